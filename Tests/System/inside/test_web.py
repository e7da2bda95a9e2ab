# SPDX-License-Identifier: Apache-2.0
"""statusd-web as a service: started by its first visitor, sealed, and without a right in statusd."""

import contextlib
import os
import pathlib
import re
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .unit import PROJECT, done, service, show, statusctl, systemctl

UNIT = "statusd-web.service"
DROP_INS = pathlib.Path("/run/systemd/system")
MANUAL = (PROJECT / "packaging/man/statusd-web.8.md").read_text(encoding="utf-8")
SELECT = """
import http.client, socket
server = http.client.HTTPConnection("localhost")
server.sock = socket.socket(socket.AF_UNIX)
server.sock.connect("/run/statusd-web/socket")
server.request("POST", "/api/select", '{"server": "db"}', {"Content-Type": "application/json", "Remote-User": "alice"})
answer = server.getresponse()
print(answer.status, answer.read().decode())
"""


def drop_in(unit, text):
    """Changes a unit until `web` ends, as `systemctl edit` does."""
    path = DROP_INS / f"{unit}.d" / "test.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@contextlib.contextmanager
def web(*lines, socket="[Socket]\n"):
    """The page, on its socket; it does not run yet."""
    drop_in(UNIT, "\n".join(["[Service]", *lines]) + "\n")
    drop_in("statusd-web.socket", socket)
    systemctl("daemon-reload")
    with service(configuration="accept: any\nservers: { db: { push: true } }\n"):
        systemctl("start", "statusd-web.socket")
        try:
            yield
        finally:
            systemctl("stop", "statusd-web.socket", UNIT)
            for unit in UNIT, "statusd-web.socket":
                (DROP_INS / f"{unit}.d" / "test.conf").unlink()
            systemctl("daemon-reload")


def get(path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:8470{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def ask_until(end):
    """Asks for the page again and again, each time by a new connection; returns the number of answers."""
    answers = 0
    while time.monotonic() < end:
        equal(get("/")[0], 200)
        answers += 1
    return answers


@test("the first visitor starts the page; installation does not; it is sealed, and neither a restart nor its death refuses anybody")
def activation():
    equal(run("systemctl", "is-enabled", "statusd-web.socket").out.strip(), "disabled")
    with web():
        equal(show("ActiveState", UNIT), "inactive")
        began = time.monotonic()
        contains(get("/")[1], "<title>statusd")
        print(f"     the first answer came after {1000 * (time.monotonic() - began):.0f} ms")
        equal(show("ActiveState", UNIT), "active")
        eventually(lambda: get("/health") == (200, "ok\n"), "the page follows the daemon")
        statusctl("post", "db", "Signed In")
        contains(get("/api/list")[1], "Signed In")
        with ThreadPoolExecutor(70) as visitors:
            asked = [visitors.submit(ask_until, time.monotonic() + 2) for _ in range(70)]
            systemctl("restart", UNIT)
            assert sum(each.result() for each in asked) > 70, "nobody was answered"
        contains(get("/api/list")[1], "Signed In")
        with urllib.request.urlopen("http://127.0.0.1:8470/events", timeout=10) as stream:
            contains(stream.readline().decode() + stream.readline().decode(), "Signed In")
            systemctl("kill", "--signal=KILL", UNIT)
        contains(get("/api/list")[1], "Signed In")
        report = run("systemd-analyze", "security", "--no-pager", UNIT).out
        exposure, = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", report)
        assert float(exposure) <= 0.3, report


@test("the user of the page may change nothing in statusd, and sees no other host and no process")
def rights():
    with web("ExecStart=", "ExecStart=/bin/sleep infinity", "Type=exec"):
        systemctl("start", UNIT)
        inside = ["nsenter", "--target", show("MainPID", UNIT), "--mount", "--net", "--ipc"]
        user = os.stat(f"/proc/{show('MainPID', UNIT)}").st_uid
        user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]
        refused = run(*inside, *user, "/usr/bin/statusctl", "post", "db", "forged")
        equal(refused.status, 77, refused.err)
        equal(run(*inside, *user, "/usr/bin/statusctl", "status", "db").status, 3, "it has no status")
        for folder in "/etc/statusd", "/var/lib/statusd":
            equal(run(*inside, *user, "ls", folder).status, 2, folder)
        network = ["nsenter", "--target", show("MainPID", UNIT), "--net"]
        equal(done(*network, "cat", "/proc/net/dev").count(":"), 1, "only the loopback device")


@test("with the settings that statusd-web(8) shows, the web server's visitors can act, and no other user of the host can say that he is one")
def actions():
    shown = dict(re.findall(r"^# systemctl edit (\S+)\n(.*?)^```$", MANUAL, re.DOTALL | re.MULTILINE))
    service_lines = shown["statusd-web"].splitlines()
    equal(service_lines[0], "[Service]")
    with web(*service_lines[1:], socket=shown["statusd-web.socket"]):
        for user, group, status in (("nobody", "nogroup", 1), ("www-data", "www-data", 0)):
            result = run("setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--", "python3", "-c", SELECT)
            equal(result.status, status, result.out + result.err)
        contains(result.out, "200 ", "db")
        equal(statusctl("list", "--selected", "--format", "{name}"), "db\n")
