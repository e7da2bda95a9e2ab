# SPDX-License-Identifier: Apache-2.0
"""The shipped receivers of alerts, and the real programs that they deliver to, each of which runs until the end of its
`with` block."""

import contextlib
import json
import mailbox
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.request

from .daemon import Result
from .expect import Skip, eventually

RECEIVERS = pathlib.Path(__file__).resolve().parents[3] / "packaging/alerts"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def need(*commands):
    """Skips the test if one of these commands is missing."""
    for command in commands:
        if not shutil.which(command):
            raise Skip(f"there is no {command}; packaging/setup --test installs it")


def alert(server="db", level="critical", **members):
    """An alert of a message."""
    return {"kind": "recovery" if level == "ok" else "problem", "server": server, "level": level, "oldLevel": "ok",
            "text": "disk full", "since": "2025-01-02T03:04:05.678Z", "id": f"{server}-m5ec1x9a", **members}


def message(*alerts, **members):
    """What a receiver gets on its standard input."""
    return {"host": "web1", "receiver": "test", "test": False, "alerts": list(alerts) or [alert()], **members}


def receive(name, *arguments, message, credentials=None, prefix=(), timeout=30, **variables):
    """Runs a receiver as statusd does: in the directory /, and with few variables. Returns how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        for credential, text in (credentials or {}).items():
            pathlib.Path(folder, credential).write_text(text, encoding="utf-8")
            variables["CREDENTIALS_DIRECTORY"] = folder
        command = [*prefix, str(RECEIVERS / name), *arguments]
        text = message if isinstance(message, str) else json.dumps(message)
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd="/",
                              env={"PATH": PATH, **variables}, timeout=timeout, check=False)
    return Result(" ".join(map(str, command)), done.returncode, done.stdout, done.stderr)


def delivered(name, *arguments, **options):
    """Runs a receiver, which must deliver the message and write nothing."""
    result = receive(name, *arguments, **options)
    assert (result.status, result.out, result.err) == (0, "", ""), f"{result}"


@contextlib.contextmanager
def _running(*command, **options):
    """A process that ends with the block."""
    with subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


class MailServer:
    """aiosmtpd, which puts mails into a mailbox, except for the user "unknown", and msmtp as `sendmail`."""

    PROGRAM = """
import asyncio, sys
from aiosmtpd.handlers import Mailbox
from aiosmtpd.smtp import SMTP
class Mails(Mailbox):
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address == "unknown":
            return "550 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"
async def main():
    mails = Mails(sys.argv[1])
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(mails, hostname="localhost"), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

    def __init__(self, folder, port):
        self.folder = pathlib.Path(folder)
        (self.folder / "sendmail").symlink_to(shutil.which("msmtp"))
        self.configure(port)
        self.variables = {"PATH": f"{folder}:{PATH}", "HOME": str(folder)}

    def configure(self, port):
        """Sets the port to which `sendmail` connects."""
        file = self.folder / ".msmtprc"
        file.write_text(f"account default\nhost 127.0.0.1\nport {port}\nfrom statusd@localhost\n", encoding="utf-8")

    def mails(self):
        """The mails in the order of their arrival, as bytes."""
        files = sorted((self.folder / "mails/new").iterdir(), key=lambda file: file.stat().st_mtime_ns)
        return [file.read_bytes() for file in files]


@contextlib.contextmanager
def mail_server():
    """A MailServer."""
    need("msmtp")
    if subprocess.run(["/usr/bin/python3", "-c", "import aiosmtpd"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("there is no python3-aiosmtpd; packaging/setup --test installs it")
    with tempfile.TemporaryDirectory() as folder:
        mailbox.Maildir(f"{folder}/mails")
        with _running("/usr/bin/python3", "-c", MailServer.PROGRAM, f"{folder}/mails", stdout=subprocess.PIPE) as server:
            yield MailServer(folder, int(server.stdout.readline()))


class Alertmanager:
    """A Prometheus Alertmanager."""

    CONFIGURATION = """
route: {{ receiver: hook, group_by: [instance], group_wait: 100ms, group_interval: 100ms, repeat_interval: 1h }}
receivers: [{{ name: hook, webhook_configs: [{{ url: "http://127.0.0.1:{}/" }}] }}]
"""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path):
        """A reply of its API."""
        with urllib.request.urlopen(f"{self.url}/api/v2/{path}", timeout=10) as reply:
            return json.load(reply)

    def open(self):
        """The server and the severity of each alert that is open."""
        return sorted((each["labels"]["server"], each["labels"]["severity"]) for each in self.get("alerts"))


@contextlib.contextmanager
def alertmanager(port):
    """An Alertmanager that keeps its state in a temporary folder, and notifies an HTTP server on this port."""
    need("prometheus-alertmanager")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "configuration").write_text(Alertmanager.CONFIGURATION.format(port), encoding="utf-8")
        with open(path / "log", "wb") as log, _running(
                "prometheus-alertmanager", f"--config.file={path}/configuration", f"--storage.path={path}/data",
                "--web.listen-address=127.0.0.1:0", "--cluster.listen-address=", stdout=log, stderr=log):
            found = eventually(lambda: re.search(r'msg="Listening on" address=127\.0\.0\.1:(\d+)',
                                                 (path / "log").read_text()), "the port of the Alertmanager")
            yield Alertmanager(found[1])


class Desktop:
    """A session bus with the notification service dunst; `variables` are those of its programs."""

    def __init__(self, variables):
        self.variables = variables

    def control(self, *arguments):
        """Runs dunstctl; returns its output, or nothing if it fails."""
        return subprocess.run(["dunstctl", *arguments], env={"PATH": PATH, **self.variables}, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def notifications(self):
        """Closes all notifications; returns the body of each that statusd has shown so far, by its summary."""
        self.control("close-all")
        shown = json.loads(self.control("history"))["data"][0]
        return {each["summary"]["data"]: each["body"]["data"] for each in shown if each["appname"]["data"] == "statusd"}


@contextlib.contextmanager
def desktop():
    """A Desktop on a display of its own."""
    need("Xvfb", "dbus-daemon", "dunst", "notify-send")
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        def started(*command, **variables):
            """Starts a program that writes a line to a descriptor when it is ready; returns the line."""
            reading, writing = os.pipe()
            with open(reading, encoding="utf-8") as lines:
                command = [part.format(writing) for part in command]
                stack.enter_context(_running(*command, pass_fds=[writing], env={"PATH": PATH, "HOME": folder, **variables},
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                os.close(writing)
                return lines.readline().strip()

        display = f":{started('Xvfb', '-displayfd', '{}')}"
        bus = started("dbus-daemon", "--session", "--nofork", "--print-address={}")
        variables = {"HOME": folder, "DISPLAY": display, "DBUS_SESSION_BUS_ADDRESS": bus}
        stack.enter_context(_running("dunst", env={"PATH": PATH, **variables}, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL))
        made = Desktop(variables)
        eventually(lambda: made.control("count"), "the notification service")
        yield made
