# SPDX-License-Identifier: Apache-2.0
"""The measured programs: started in a temporary directory on loopback, stopped by their process id."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / ".build" / "benchmarks"
STATUSD = ROOT / ".build" / "release" / "statusd"
STATUSCTL = ROOT / ".build" / "release" / "statusctl"


@contextlib.contextmanager
def running(command, **options):
    """A process that runs until the block ends."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def folder():
    """A directory in memory, so that no disk is measured."""
    with tempfile.TemporaryDirectory(prefix="statusd-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as path:
        yield pathlib.Path(path)


def until(condition, what, seconds=30):
    """Waits for a condition; ends the program if it times out."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"benchmarks: waited {seconds} s for {what}")
        time.sleep(0.01)


def pin(pid, cpus):
    """Restricts a process, with all its threads, to these processors."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        # A thread may have ended in between.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread), cpus)


class Daemon:
    """A running statusd: calls over its socket, and figures of its process."""

    def __init__(self, process, directory):
        self.process = process
        self.directory = directory
        self.socket = directory / "org.statusd.monitor"

    def status(self, field):
        """A number from /proc/PID/status."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise KeyError(field)

    def answers(self):
        """Whether it already listens: its socket exists a moment before."""
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def call(self, method, parameters=None):
        """The reply to a call."""
        with self.connect() as connection:
            message = {"method": f"org.statusd.monitor.{method}", "parameters": parameters or {}}
            connection.sendall(json.dumps(message).encode() + b"\0")
            return receive(connection)

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(str(self.socket))
        return connection

    def post_to(self, names, text="Signed In as operator"):
        """Posts to each name once, and returns when all posts have been taken."""
        with self.connect() as connection:
            for name in names:
                call = {"method": "org.statusd.monitor.Post", "parameters": {"server": name, "text": text}, "oneway": True}
                connection.sendall(json.dumps(call, separators=(",", ":")).encode() + b"\0")
            connection.sendall(b'{"method":"org.varlink.service.GetInfo"}\0')
            receive(connection)


def receive(connection):
    """The next message."""
    data = b""
    while not data.endswith(b"\0"):
        chunk = connection.recv(1 << 20)
        if not chunk:
            raise SystemExit("benchmarks: statusd closed the connection")
        data += chunk
    return json.loads(data.split(b"\0")[0])


@contextlib.contextmanager
def statusd(configuration="accept: any\nlimits: { servers: 65536 }\n", drop_ins=(), binary=STATUSD, wrapper=(), arguments=(), **options):
    """A running daemon, once it is reachable; the drop-ins are texts like the configuration."""
    with folder() as directory:
        (directory / "etc" / "conf.d").mkdir(parents=True)
        (directory / "etc" / "statusd.yaml").write_text(configuration)
        for number, text in enumerate(drop_ins):
            (directory / "etc" / "conf.d" / f"{number:03}.yaml").write_text(text)
        environment = {
            **os.environ, "RUNTIME_DIRECTORY": str(directory), "STATE_DIRECTORY": str(directory), "SWIFT_BACKTRACE": "enable=no",
            **options.pop("env", {}),
        }
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "JOURNAL_STREAM"):
            environment.pop(name, None)
        command = [*wrapper, str(binary), "--config", str(directory / "etc"), *arguments]
        with running(command, env=environment, stdout=subprocess.DEVNULL, **options) as process:
            daemon = Daemon(process, directory)
            until(daemon.answers, "statusd to start")
            yield daemon
