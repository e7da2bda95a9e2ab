# SPDX-License-Identifier: Apache-2.0
"""Real hosts: a statusd and a statusd-mqtt each, from .build/release."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

from harness.daemon import BINARIES, Daemon
from harness.expect import PATIENCE
from harness.varlink import VarlinkError

PROGRAM = os.environ.get("STATUSD_MQTT") or str(BINARIES / "statusd-mqtt")

SERVERS = """
servers:
  db: { push: true, description: The database }
  web: { push: true, parent: db }
  "app:db@main:1": { push: true, ttl: 5s }
  all: { group: [db, web] }
  load: { load: true, interval: 1s }
"""


class Host:
    """A statusd and its statusd-mqtt, on this machine or another of the network (`prefix`)."""

    def __init__(self, name, section, more="", prefix=()):
        self.name, self.prefix = name, list(prefix)
        self.daemon = Daemon(f"mqtt: {json.dumps(section)}\n{more}", start=False, prefix=self.prefix)
        state = self.daemon.folder / "mqtt"
        state.mkdir()
        self.environment = {**self.daemon.environment, "STATE_DIRECTORY": str(state)}
        self.environment.pop("NOTIFY_SOCKET")
        self.process, self.isolated = None, bool(prefix)

    # The programs

    def start(self):
        self.daemon.start()
        self.start_carrier()

    def start_carrier(self):
        """Starts statusd-mqtt."""
        with open(self.daemon.folder / "mqtt.log", "ab") as log:
            self.process = subprocess.Popen([*self.prefix, PROGRAM], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.environment)

    def end_carrier(self, number=signal.SIGTERM):
        """Ends statusd-mqtt; returns its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def log(self):
        """What statusd-mqtt has written."""
        path = self.daemon.folder / "mqtt.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def memory(self, process=None):
        """The memory of a process, by default of statusd-mqtt, in MB."""
        with open(f"/proc/{(process or self.process).pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))

    # What is said

    def call(self, method, **parameters):
        """A call on a new connection, whose reply may be large: a list of 100,000 servers has 50 MB."""
        with self.daemon.connect() as connection:
            connection.send(method, parameters)
            reply = bytearray()
            while not reply.endswith(b"\0"):
                data = connection.socket.recv(1 << 20)
                if not data:
                    raise ConnectionError("closed instead of a reply")
                reply += data
        found = json.loads(reply[:-1])
        if "error" in found:
            raise VarlinkError(found)
        return found.get("parameters") or {}

    def list(self):
        """Its own list, as people see it."""
        return json.loads(self.daemon.done("--json", "list"))["servers"]

    def model(self, state="ready"):
        """What a hub must show of it now."""
        return {"state": state, "servers": self.list()}

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if os.environ.get("STATUSD_KEEP"):
            print(f"kept {self.name}: {self.daemon.folder}")
            shutil.copytree(self.daemon.folder, f"{self.daemon.folder}.kept", ignore=lambda *_: ["run", "manager"])
        self.daemon.__exit__()


class Poster:
    """Posts random statuses on real hosts, and forgets some; the seed decides what."""

    def __init__(self, hosts, chance):
        self.hosts, self.chance = hosts, chance
        self.count = 0

    def post(self, count):
        """So many changes; a daemon that is down misses them."""
        for _ in range(count):
            host = self.chance.choice(self.hosts)
            name = self.chance.choice(("db", "web", "app:db@main:1", "guest-1", "guest-2", "guest-3"))
            kind, level = self.chance.random(), self.chance.choice(("ok", "warning", "critical", "unknown"))
            text = f"{self.chance.choice(('Signed In', 'Signed Out', 'Grüße', 'full'))} {self.chance.randrange(1000)}"
            with contextlib.suppress(Exception):
                if kind < 0.08 and name.startswith("guest"):
                    host.call("Forget", server=name)
                elif kind < 0.16:
                    host.call("Silence", servers=[name], reason=text)
                else:
                    host.call("Post", server=name, text=text, level=level)
                self.count += 1
