# SPDX-License-Identifier: Apache-2.0
"""statusd-web behind nginx, Caddy and lighttpd, each with the configuration that statusd-web(8) shows."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

from harness.daemon import NOBODY, Daemon
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test
from harness.site import Events, Site

MANUAL = pathlib.Path(__file__).resolve().parents[3] / "packaging/man/statusd-web.8.md"
SERVERS = "accept: any\nservers:\n  db: { push: true }\n  disk: { disk: /, interval: 1h }\n"
ALICE = "Basic " + base64.b64encode(b"alice:secret").decode()
PATH = os.environ["PATH"] + ":/usr/sbin"
CADDY_HASH = "$2b$04$/omnbEdiTI7CIg8TWiGRPOcBAy/L4G0b2ElI9oLMY38z4L1BBUCYK"
"""The password "secret", at the lowest cost."""


def shown(beginning, **changes):
    """The example in the manual with this beginning, with other paths and names in it."""
    found, = [block for block in re.findall(r"^```\n(.*?)^```$", MANUAL.read_text(), re.DOTALL | re.MULTILINE) if block.startswith(beginning)]
    for old, new in changes.values():
        contains(found, old)
        found = found.replace(old, new)
    return found


class Proxy:
    """A web server in front of a page, as an ordinary user; looks like a `Site`, with all addresses below /status."""

    def __init__(self, folder, configuration, *command):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        file = folder / "configuration"
        file.write_text(configuration(self.port))
        self.log = open(folder / "log", "w", encoding="utf-8")
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [*user, *(part.format(file=file, folder=folder) for part in command)], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            cwd=folder, env={"PATH": PATH, "HOME": str(folder)})

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)

    def request(self, method, target, body=None, **fields):
        """As `Site.request`; alice asks, if nobody else is named."""
        fields = {"Authorization": ALICE, **{name.replace("_", "-"): value for name, value in fields.items()}}
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, "/status" + target, body, {name: value for name, value in fields.items() if value})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return self.request("GET", "/health")[0] == 200
        except OSError:
            return False

    def end(self):
        self.process.terminate()
        self.process.wait(15)
        self.log.close()


@contextlib.contextmanager
def behind(configuration, *command):
    """A daemon, a page and a web server in front of it. `configuration`: what it is for the folder, the page's socket and a port."""
    if not shutil.which(command[0], path=PATH):
        raise Skip(f"there is no {command[0]}; packaging/setup --test installs it")
    with Daemon(SERVERS) as daemon:
        folder = daemon.folder / "proxy"
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, NOBODY, NOBODY)
        path = str(daemon.folder / "web")
        with Site(daemon, "--actions", path=path):
            os.chmod(path, 0o666)
            proxy = Proxy(folder, lambda port: configuration(folder, path, port), *command)
            try:
                eventually(proxy.answers, "an answer through the web server")
                yield daemon, proxy
            finally:
                proxy.end()


def check_reading(daemon, proxy):
    """The page works below /status, and an event comes at once, while its stream goes on."""
    equal(proxy.request("GET", "/", Authorization=None)[0], 401)
    status, _, page = proxy.request("GET", "/")
    equal(status, 200)
    for file in re.findall(r'(?:href|src)="\./([a-z.-]+)"', page):
        equal(proxy.request("GET", "/" + file)[0], 200, file)
    equal(proxy.request("GET", "/db")[2], page)
    equal(json.loads(proxy.request("GET", "/api/list")[2]), json.loads(daemon.done("list", "--json")))
    with Events(proxy, "/status/events", Authorization=ALICE, Remote_User="mallory") as stream:
        actions = stream.next("snapshot")["web"]["actions"]
        for number in range(3):
            daemon.done("post", "db", f"text {number}")
            equal(stream.next("changed")["server"]["status"]["text"], f"text {number}")
    return actions


def check_acting(proxy):
    """alice may act as herself, and a page of another site may not make her do so."""
    fields = {"Content_Type": "application/json", "Origin": f"http://127.0.0.1:{proxy.port}", "Sec_Fetch_Site": "same-origin", "Remote_User": "mallory"}
    status, _, body = proxy.request("POST", "/api/refresh", '{"server": "disk"}', **fields)
    equal((status, json.loads(body)), (200, {"failed": []}))
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    status, _, body = proxy.request("POST", "/api/silence", json.dumps({"servers": ["db"], "until": until, "reason": "work"}), **fields)
    equal(status, 200, body)
    equal(json.loads(proxy.request("GET", "/api/status/db")[2])["server"]["silence"]["reason"], "work (alice)")
    for change in {"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}:
        equal(proxy.request("POST", "/api/select", '{"server": "db"}', **{**fields, **change})[0], 403)
    equal(proxy.request("POST", "/api/select", '{"server": "db"}', **{**fields, "Authorization": None})[0], 401)


@test("web: behind nginx, as statusd-web(8) shows it, the page, its events and actions work, and only nginx says who a visitor is")
def nginx():
    def configuration(folder, path, port):
        (folder / "users").write_text("alice:{PLAIN}secret\n")
        temporary = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        location = shown("location", socket=("/run/statusd-web/socket", path), users=("/etc/nginx/statusd.users", f"{folder}/users"))
        return (f"daemon off; pid {folder}/pid; error_log stderr; worker_processes 1; events {{}}\n"
                f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port};\n{location} }} }}\n")

    with behind(configuration, "nginx", "-e", "stderr", "-p", "{folder}", "-c", "{file}") as (daemon, proxy):
        equal(check_reading(daemon, proxy), True)
        check_acting(proxy)


@test("web: behind Caddy, as statusd-web(8) shows it, the page, its events and actions work, and only Caddy says who a visitor is")
def caddy():
    def configuration(_, path, port):
        site = shown("status.example.org {", name=("status.example.org", f"http://127.0.0.1:{port}"), socket=("/run/statusd-web/socket", path),
                     password=("HASH", base64.b64encode(CADDY_HASH.encode()).decode()))
        return "{\n\tadmin off\n}\n" + site

    with behind(configuration, "caddy", "run", "--adapter", "caddyfile", "--config", "{file}") as (daemon, proxy):
        equal(check_reading(daemon, proxy), True)
        check_acting(proxy)


@test("web: behind lighttpd, as statusd-web(8) shows it, the page and its events work, and nobody can say that he may act")
def lighttpd():
    def configuration(folder, path, port):
        (folder / "users").write_text("alice:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n")
        site = shown("server.modules", socket=("/run/statusd-web/socket", path), users=("/etc/lighttpd/statusd.users", f"{folder}/users"))
        return f'server.document-root = "{folder}"\nserver.bind = "127.0.0.1"\nserver.port = {port}\n{site}'

    with behind(configuration, "lighttpd", "-D", "-f", "{file}") as (daemon, proxy):
        equal(check_reading(daemon, proxy), False)
        equal(proxy.request("POST", "/api/select", '{"server": "db"}', Content_Type="application/json", Remote_User="mallory")[0], 403)
