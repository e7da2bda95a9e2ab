# SPDX-License-Identifier: Apache-2.0
"""A real mosquitto, a client that writes what it hears, and the real statusd-mqtt between a statusd and that broker."""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from .daemon import BINARIES, Follower, environment, run
from .expect import PATIENCE, Skip, equal, eventually
from .manager import FakeServiceManager

STATUSD_MQTT = str(BINARIES / "statusd-mqtt")
MOSQUITTO = "/usr/sbin/mosquitto"


class Process:
    """A process with a folder, which end with the `with` block."""

    process = folder = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Broker(Process):
    """A mosquitto on a free port of 127.0.0.1, ended with the `with` block. `settings` are more lines of its configuration, for which
    `{folder}` is its folder; without a setting about users, everyone may do everything."""

    def __init__(self, settings="", start=True):
        if not pathlib.Path(MOSQUITTO).exists():
            raise Skip("there is no mosquitto; packaging/setup --test installs it")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="statusd-broker-", dir="/tmp"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        anonymous = "" if "allow_anonymous" in settings else "allow_anonymous true\n"
        user = "user root\n" if pathlib.Path("/").owner() and run("id", "-u").out == "0\n" else ""
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\n{user}persistence false\n{anonymous}{settings.format(folder=self.folder)}\n")
        self.process = None
        if start:
            self.start()

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([MOSQUITTO, "-c", str(self.folder / "mosquitto.conf")], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=environment())
        eventually(self._answers, "mosquitto listens")

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(PATIENCE)

    def publish(self, topic, payload, *arguments):
        """Publishes a retained message: text, or an object as JSON."""
        text = payload if isinstance(payload, str) else json.dumps(payload)
        result = run("mosquitto_pub", "-h", "127.0.0.1", "-p", self.port, "-q", "1", "-r", "-t", topic, "-m", text, *arguments)
        equal(result.status, 0, result.err)

    def message(self, topic):
        """The retained message of a topic."""
        return run("mosquitto_sub", "-h", "127.0.0.1", "-p", self.port, "-t", topic, "-C", "1", "-W", "5").out

    def listener(self, topic="#", *arguments):
        return Listener("mosquitto_sub", "-h", "127.0.0.1", "-p", self.port, "-t", topic, "-F", "%r %t %p", *arguments, env=environment())


class Listener(Follower):
    """A client that hears what is published."""

    def message(self, topic, **members):
        """Reads up to a message for a topic whose JSON has these members; returns it, or "" for an empty one."""
        while (line := self.next()) is not None:
            _, found, payload = line.split(" ", 2)
            if found != topic:
                continue
            value = json.loads(payload) if payload else ""
            if not members or value and all(value.get(name) == wanted for name, wanted in members.items()):
                return value
        raise AssertionError(f"the broker closed the connection: {self.errors}")


class Bridge(Process):
    """A statusd-mqtt for a daemon, ended with the `with` block. `section` is its section `mqtt`, or None to ask the daemon; credentials
    are files by name."""

    def __init__(self, daemon, section, credentials=None, start=True, prefix=()):
        self.daemon, self.prefix = daemon, prefix
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="statusd-mqtt-", dir="/tmp"))
        self.manager = FakeServiceManager(str(self.folder / "manager"))
        self.file = self.folder / "mqtt.yaml"
        self.file.write_text(f"mqtt: {section}\n")
        self.arguments = [] if section is None else ["--config", str(self.file)]
        for name, text in (credentials or {}).items():
            (self.folder / f"mqtt.{name}").write_text(text)
        (self.folder / "state").mkdir()
        self.environment = environment(
            STATUSD_ADDRESS=f"unix:{daemon.socket}", NOTIFY_SOCKET=self.manager.path, STATE_DIRECTORY=self.folder / "state",
            CREDENTIALS_DIRECTORY=self.folder)
        self.process = None
        if start:
            self.start()

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.prefix, STATUSD_MQTT, *self.arguments], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=self.environment)

    def run(self, *arguments):
        """Runs statusd-mqtt to its end."""
        return run(STATUSD_MQTT, *self.arguments, *arguments, env=self.environment)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def logs(self, *parts):
        """Waits until the log has these parts."""
        def has_parts():
            for part in parts:
                assert part in self.log(), f"no {part!r} in {self.log()!r}"
            return True
        eventually(has_parts)

    def status(self, *parts):
        """Waits until the last STATUS= has these parts."""
        def has_parts():
            last = [line for line in self.manager.lines() if line.startswith("STATUS=")][-1:]
            assert last and all(part in last[0] for part in parts), f"no {parts} in {last}"
            return True
        eventually(has_parts)

    def __exit__(self, *_):
        super().__exit__()
        self.manager.close()
