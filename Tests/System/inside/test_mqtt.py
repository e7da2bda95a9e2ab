# SPDX-License-Identifier: Apache-2.0
"""statusd-mqtt as a service: not enabled, sealed but for the network, and with no right in statusd but to report other hosts."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from harness.daemon import run
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test

from .unit import done, service, show, statusctl, systemctl

UNIT = "statusd-mqtt.service"
DROP_IN = pathlib.Path("/run/systemd/system/statusd-mqtt.service.d/test.conf")
PORT = 11883
CONFIGURATION = f"accept: any\nservers: {{ db: {{ push: true }} }}\nmqtt: {{ broker: mqtt://127.0.0.1:{PORT}, host: web1, user: web1, follow: [web2] }}\n"
CALL = """
import json, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect("/run/statusd/org.statusd.monitor")
s.sendall(json.dumps({"method": "org.statusd.monitor." + sys.argv[1], "parameters": json.loads(sys.argv[2])}).encode() + b"\\0")
print(s.recv(65536).decode())
"""
REPORT = {"host": "web2", "state": "ready", "epoch": 1, "machine": "2" * 32}


@contextlib.contextmanager
def broker():
    """A mosquitto with a password, on the loopback interface."""
    program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
    if not os.path.exists(program):
        raise Skip("there is no mosquitto; packaging/setup --test installs it")
    with tempfile.TemporaryDirectory() as folder:
        passwords = pathlib.Path(folder, "passwords")
        passwords.touch(mode=0o600)
        done("mosquitto_passwd", "-b", passwords, "web1", "secret")
        configuration = pathlib.Path(folder, "mosquitto.conf")
        configuration.write_text(f"listener {PORT} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\nuser root\n")
        with subprocess.Popen([program, "-c", configuration], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield lambda: done("mosquitto_sub", "-p", PORT, "-u", "web1", "-P", "secret", "-t", "statusd/1/web1/+", "-v", "-W", "1",
                                   "--retained-only", "-C", "2")
            finally:
                process.kill()


@contextlib.contextmanager
def carrier():
    """statusd, and a statusd-mqtt that has the password as a credential but does not run yet."""
    with tempfile.TemporaryDirectory() as folder:
        password = pathlib.Path(folder, "mqtt.password")
        password.write_text("secret\n")
        password.chmod(0o600)
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        DROP_IN.write_text(f"[Service]\nLoadCredential=mqtt.password:{password}\n")
        try:
            with service(configuration=CONFIGURATION):
                yield
        finally:
            run("systemctl", "stop", UNIT)
            DROP_IN.unlink()
            systemctl("daemon-reload")


@test("statusd-mqtt is not enabled by an installation; started, it publishes with the password of its credential, sealed but for the network")
def publishes():
    equal(run("systemctl", "is-enabled", UNIT).out.strip(), "disabled")
    with broker() as retained, carrier():
        statusctl("post", "db", "Signed In")
        systemctl("start", UNIT)
        contains(eventually(retained, "messages"), "statusd/1/web1/$state", '"ready"', "statusd/1/web1/db", "Signed In")
        systemctl("stop", UNIT)
        contains(retained(), '"stopped"')
        equal(show("Result", UNIT), "success")
        assert not os.listdir("/var/lib/statusd-mqtt") or os.stat("/var/lib/statusd-mqtt").st_mode & 0o77 == 0
    report = run("systemd-analyze", "security", "--no-pager", UNIT).out
    exposure, = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", report)
    assert float(exposure) <= 1.2, report


@test("the user of statusd-mqtt may report other hosts, and change nothing else; other users may not even that")
def rights():
    def call(user, method, parameters):
        found = run("setpriv", f"--reuid={user}", f"--regid={user if user != 'nobody' else 'nogroup'}", "--clear-groups", "--",
                    "python3", "-c", CALL, method, json.dumps(parameters))
        return json.loads(found.out.rstrip("\n\0")).get("error", "").rpartition(".")[2]

    with carrier():
        equal(call("statusd-mqtt", "ReportHost", REPORT), "")
        contains(statusctl("list"), "web2")
        for method, parameters in (("Post", {"server": "db", "text": "forged"}), ("Select", {"server": "db"}), ("Forget", {"server": "web2"}),
                                   ("Silence", {}), ("Reload", {})):
            equal(call("statusd-mqtt", method, parameters), "PermissionDenied", method)
        equal(call("nobody", "ReportHost", REPORT), "PermissionDenied")


@test("statusd-mqtt starts no daemon that was stopped")
def stopped():
    with carrier():
        systemctl("stop", "statusd.socket", "statusd.service")
        systemctl("start", "--no-block", UNIT)
        eventually(lambda: "waiting" in show("StatusText", UNIT), "it waits")
        equal((show("ActiveState"), show("ActiveState", "statusd.socket")), ("inactive", "inactive"))
        systemctl("start", "statusd.socket", "statusd.service")
        eventually(lambda: show("ActiveState", UNIT) == "active", "ready once statusd is")
