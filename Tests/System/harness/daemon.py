# SPDX-License-Identifier: Apache-2.0
"""The real statusd in a temporary directory, and the real statusctl that talks to it."""

import dataclasses
import contextlib
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import tempfile
import threading

from .expect import PATIENCE, eventually
from .manager import FakeServiceManager
from .varlink import Connection

BINARIES = pathlib.Path(os.environ.get("STATUSD_BINARIES", ".build/release")).absolute()
STATUSD, STATUSCTL = str(BINARIES / "statusd"), str(BINARIES / "statusctl")
NOBODY = 65534


@dataclasses.dataclass
class Result:
    """How a command ended."""

    command: str
    status: int
    out: str
    err: str


def environment(**changes):
    """The environment of this process, without the variables of a service manager and of the user's settings."""
    strip = ("STATUSD_", "XDG_", "LISTEN_", "WATCHDOG_", "SYSTEMD_")
    names = ("NOTIFY_SOCKET", "JOURNAL_STREAM", "INVOCATION_ID", "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "NO_COLOR",
             "CONFIGURATION_DIRECTORY", "MAINPID")
    kept = {k: v for k, v in os.environ.items() if k not in names and not k.startswith(strip)}
    return {**kept, "SWIFT_BACKTRACE": "enable=no", **{k: str(v) for k, v in changes.items()}}


def run(*command, timeout=30, **options):
    """Runs a command to its end."""
    options.setdefault("env", environment())
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="surrogateescape", timeout=timeout, check=False, **options)
    return Result(" ".join(map(str, command)), done.returncode, done.stdout, done.stderr)


def readable_binaries(folder):
    """Copies the binaries to a folder where other users can run them."""
    for binary in (STATUSD, STATUSCTL):
        shutil.copy(binary, folder)
        os.chmod(os.path.join(folder, os.path.basename(binary)), 0o755)
    return folder


class Follower:
    """A command that writes until it is stopped, such as `statusctl watch`; lines are read as they arrive."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **options)
        self._lines, self.errors, self.seen = queue.Queue(), [], []
        self._threads = [threading.Thread(target=self._read_lines, daemon=True),
                         threading.Thread(target=self._read_errors, daemon=True)]
        for thread in self._threads:
            thread.start()

    def _read_lines(self):
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.rstrip("\n"))

    def next(self, timeout=PATIENCE):
        """The next line; None at the end of the output."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no further line after {self.seen[-3:]}, errors {self.errors[-3:]}") from None
        self.seen.append(line)
        return line

    def until(self, *parts):
        """Reads up to a line with all of these parts, and returns it."""
        while (line := self.next()) is not None:
            if all(part in line for part in parts):
                return line
        raise AssertionError(f"the output ended without {parts}; last {self.seen[-4:]}, errors {self.errors[-3:]}")

    def end(self, number=signal.SIGINT):
        """Sends a signal, waits, and returns the exit status."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        """Waits for the process and its output to end; returns the exit status."""
        status = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Daemon:
    """A statusd of its own, ended with the `with` block. `configuration` is YAML, a function that makes it for the
    daemon's folder, or None for the embedded defaults;
    `prefix` a command that runs statusd, `arguments` are those of every start."""

    def __init__(self, configuration=None, start=True, prefix=(), arguments=(), **options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="statusd-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.runtime = self.folder / "run"
        for name in ("run", "state", "etc"):
            (self.folder / name).mkdir(mode=0o711 if name == "run" else 0o755)
        self.file = self.folder / "etc" / "statusd.yaml"
        if configuration is not None:
            self.file.write_text(configuration(self.folder) if callable(configuration) else configuration)
        self.socket = str(self.runtime / "org.statusd.monitor")
        self.manager = FakeServiceManager(str(self.folder / "manager"))
        self.environment = environment(
            NOTIFY_SOCKET=self.manager.path, RUNTIME_DIRECTORY=self.runtime, STATE_DIRECTORY=self.folder / "state",
            CONFIGURATION_DIRECTORY=self.folder / "etc", STATUSD_ADDRESS=f"unix:{self.socket}")
        self.options = options
        self.prefix = prefix
        self.arguments = arguments
        self.process = None
        if start:
            try:
                self.start()
            except BaseException:
                self.__exit__()
                raise

    def launch(self, arguments=(), stderr=None):
        """Starts the daemon; returns a function that tells whether it has sent its READY=1."""
        ready = self.manager.lines().count("READY=1")
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.prefix, STATUSD, *self.arguments, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=stderr or log,
                                            env=self.environment, **self.options)
        return lambda: self.manager.lines().count("READY=1") > ready

    def start(self, arguments=(), stderr=None):
        """Starts the daemon and waits for its READY=1."""
        has_started = self.launch(arguments, stderr)

        def is_ready():
            assert self.process.poll() is None, f"statusd ended with {self.process.returncode}: {self.log()[-500:]}"
            return has_started()

        eventually(is_ready, "READY=1 from statusd")

    def stop(self, number=signal.SIGTERM):
        """Sends a signal and waits; returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def log(self):
        """The daemon's standard output and standard error."""
        return (self.folder / "log").read_text(errors="replace")

    def ctl(self, *arguments, **options):
        """Runs statusctl against this daemon."""
        options.setdefault("env", environment(STATUSD_ADDRESS=f"unix:{self.socket}"))
        return run(STATUSCTL, *arguments, **options)

    def ctl_in_shell(self, command, before=""):
        """Runs statusctl in a shell, which expands the arguments and redirections in `command`, after a command."""
        return run("sh", "-c", f"{before}exec '{STATUSCTL}' {command}", env=environment(STATUSD_ADDRESS=f"unix:{self.socket}"))

    def done(self, *arguments, **options):
        """Runs statusctl, which must succeed; returns its output."""
        result = self.ctl(*arguments, **options)
        assert result.status == 0, f"{result.command} ended with {result.status}: {result.err}{result.out}"
        return result.out

    def follow(self, *arguments, **options):
        """Starts a statusctl that writes until it is stopped."""
        options.setdefault("env", environment(STATUSD_ADDRESS=f"unix:{self.socket}"))
        return Follower(STATUSCTL, *arguments, **options)

    def connect(self):
        """A raw connection to the control socket."""
        return Connection(self.socket)

    def notify_path(self, server):
        """The notify socket of a server."""
        return str(self.runtime / "notify" / server)

    def describe(self, server=None):
        """The state of a server from Describe, on a new connection."""
        with self.connect() as connection:
            return connection.call("Describe", {"server": server} if server else {})["server"]

    def text(self, server=None):
        """The text of a server's status, or None."""
        status = self.describe(server).get("status")
        return status["text"] if status else None

    def history(self, **parameters):
        """The entries of History."""
        with self.connect() as connection:
            connection.send("History", parameters, more=True)
            entries = []
            while (entry := connection.receive()["parameters"].get("change")) is not None:
                entries.append(entry)
            return entries

    def descriptors(self):
        """The number of open descriptors of the daemon."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def sockets(self):
        """The number of open sockets of the daemon; unlike files, they do not come and go with its state."""
        def target(descriptor):
            with contextlib.suppress(FileNotFoundError):
                return os.readlink(descriptor)
            return ""
        return sum(target(descriptor).startswith("socket:") for descriptor in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir())

    def children(self, name):
        """The daemon's child processes of this name (proc(5), comm)."""
        def each():
            for tasks in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children"):
                for child in tasks.read_text().split():
                    with contextlib.suppress(OSError):
                        if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == name:
                            yield int(child)

        return list(each())

    def assert_no_leak(self, before):
        """Waits until no more descriptors are open than before, except for the few that an event loop opens once, when it
        first needs a clock. A leak would grow with each of the many clients of a test."""
        eventually(lambda: self.descriptors() <= before + 3, f"about {before} descriptors, as before")

    def resident(self, field="VmRSS"):
        """The daemon's resident memory in KiB; with VmHWM, the maximum so far."""
        for line in open(f"/proc/{self.process.pid}/status", encoding="ascii"):
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
        return 0

    def assert_alive(self):
        """Checks that the same process still runs and answers."""
        assert self.process.poll() is None, f"the daemon ended with {self.process.returncode}: {self.log()[-500:]}"
        with self.connect() as connection:
            connection.call("List")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.manager.close()
        shutil.rmtree(self.folder, ignore_errors=True)
