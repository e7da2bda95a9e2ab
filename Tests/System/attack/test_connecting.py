# SPDX-License-Identifier: Apache-2.0
"""Clients that fill the backlog of the socket that all clients connect to, to keep others from connecting."""

import concurrent.futures
import contextlib
import fcntl
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from harness.attacker import Attacker, need_root
from harness.bystander import Bystander, timed
from harness.daemon import NOBODY, Daemon, environment
from harness.dead_disk import dead_disk, stuck_pipe
from harness.expect import contains, equal, eventually
from harness.runner import test

from .test_freezing import CONFIGURATION, old_kernel, stop_and_time, watch_often

SLEEPERS = 3000
"""The attacker's processes that get a signal whenever the daemon sends to its sockets or closes them, which takes some 1.5 ms each time."""
FLOODERS = 16
DURATION = 5
"""The seconds for which new clients connect during the attack."""
PLACES = 128
"""The limit on one user's connections."""
BACKLOG = 128
SO_PASSRIGHTS = 83
CLIENTS = 64
"""The clients that a failed start answers. When it closes one, the kernel wakes all WATCHES of it for a quarter of its UNREAD messages."""
UNREAD = 200
WATCHES = 10_000
ACTIVATE = """
import os, sys
for place, number in enumerate(sys.argv[1].split(",")):
    os.dup2(int(number), 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES="varlink:privileged")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a program like a service manager that listens for it on two sockets."""


@contextlib.contextmanager
def activated(configuration, is_first=False):
    """A daemon, not started, whose control sockets, ordinary and privileged, are open already. Unless it is the first one, a former daemon left
    them."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
        # Not one of the numbers that the sockets will have.
        numbers = [fcntl.fcntl(listener, fcntl.F_DUPFD, 10) for listener in listeners]
        for number in numbers:
            stack.callback(os.close, number)
        prefix = (sys.executable, "-c", ACTIVATE, ",".join(map(str, numbers)))
        daemon = stack.enter_context(Daemon(configuration, start=False, prefix=prefix, pass_fds=numbers))
        for listener, path, mode in zip(listeners, (daemon.socket, privileged(daemon)), (0o666, 0o600)):
            listener.bind(path)
            os.chmod(path, mode)
            if not is_first:
                with contextlib.suppress(OSError):  # before Linux 6.16
                    listener.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
            listener.listen(BACKLOG)
        yield daemon


def privileged(daemon):
    """The path of the socket for privileged clients."""
    return f"{daemon.socket}.privileged"


def close_inherited():
    """Closes the descriptors inherited from the test, which would keep the listening sockets open. Clients would then wait forever for an accept."""
    os.closerange(3, 256)


def ctl_as_root(daemon, *arguments):
    """Runs statusctl on the socket for privileged clients."""
    return daemon.ctl(*arguments, env=environment(STATUSD_ADDRESS=f"unix:{privileged(daemon)}"))


def list_as_root(daemon):
    """Runs statusctl, which must succeed."""
    result = ctl_as_root(daemon, "list")
    equal((result.status, result.err), (0, ""))


@contextlib.contextmanager
def sleepers():
    """Starts a group of processes that ignore a signal which the kernel delivers to them one by one."""
    def prepare():
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])

    script = f"i=0; while [ $i -lt {SLEEPERS} ]; do sleep 60 & i=$((i + 1)); done"
    shell = subprocess.Popen(["sh", "-c", script], user=NOBODY, group=NOBODY, extra_groups=(), preexec_fn=prepare)
    try:
        equal(shell.wait(), 0, "exit status")
        yield shell.pid
    finally:
        os.killpg(shell.pid, signal.SIGKILL)


def slow_socket(path, group):
    """Connects so that whatever the daemon does to its end sends a signal to each process of a group (fcntl(2), F_SETOWN)."""
    connection = socket.socket(socket.AF_UNIX)
    fcntl.fcntl(connection, fcntl.F_SETOWN, -group)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    connection.connect(path)
    return connection


def connect_often(path, group):
    """Makes children connect as fast as they can until this process ends."""
    attacker = os.getpid()
    os.nice(19)
    for _ in range(FLOODERS):
        if os.fork() == 0:
            try:
                while os.getppid() == attacker:
                    with contextlib.suppress(OSError):
                        kept = [slow_socket(path, group) for _ in range(100)]
                del kept
            finally:
                os._exit(0)


def refuse_slowly(path_of, name):
    """The attacker connects to `path_of(daemon)`."""
    need_root()

    def attack(path, group):
        close_inherited()
        kept = [slow_socket(path, group) for _ in range(PLACES)]
        connect_often(path, group)
        return kept

    with activated(CONFIGURATION) as daemon:
        os.chmod(path_of(daemon), 0o666)
        daemon.start()
        with sleepers() as group, Attacker(attack, path_of(daemon), group) as attacker:
            attacker.wait()
            with Bystander(daemon) as bystander:
                end, times = time.monotonic() + DURATION, []
                while time.monotonic() < end:
                    times.append(timed(list_as_root, daemon))
                bystander.finish(name)
            print(f"     statusctl on the socket for privileged clients: worst {1000 * max(times):.0f} ms of {len(times)}", flush=True)
        stop_and_time(daemon)


@test("clients that are slow to refuse, because the kernel signals thousands of processes, do not block privileged clients", limit=120)
def slow_refusals():
    refuse_slowly(lambda daemon: daemon.socket, "connections that are refused slowly")


@test("privileged clients that are slow to refuse do not keep others from connecting", limit=120)
def slow_privileged_refusals():
    refuse_slowly(privileged, "privileged connections that are refused slowly")


@test("a flood of clients does not keep a daemon with an invalid configuration from starting once it is corrected", limit=120)
def failed_start():
    need_root()

    def attack(daemon, group):
        close_inherited()
        # The failing start has a client at once.
        first = slow_socket(daemon.socket, group)
        connect_often(daemon.socket, group)
        return first

    def mend():
        eventually(lambda: (daemon.folder / "log").exists() and "servers" in daemon.log(), "the error in the log")
        daemon.file.write_text(CONFIGURATION)

    with activated("servers: wrong\n") as daemon:
        mending = threading.Thread(target=mend)
        with sleepers() as group, Attacker(attack, daemon, group) as attacker:
            attacker.wait()
            mending.start()
            daemon.start()
            mending.join()
        stop_and_time(daemon)


class Client:
    """A client that connects and polls for an answer."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.is_answered = self.is_closed = False

    def look(self):
        try:
            while self.socket.recv(4096, socket.MSG_DONTWAIT):
                self.is_answered = True
            self.is_closed = True
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.is_closed = True


def close_slowly_after_failed_start(variables, answered, closed):
    """Corrects the configuration once so many clients are answered, and so many see their connection closed."""
    need_root()

    def attack(daemon, counts):
        close_inherited()
        clients = [Client(daemon.socket) for _ in range(CLIENTS)]
        for client in clients:
            watch_often(client.socket, WATCHES)
            for _ in range(UNREAD):
                client.socket.send(b"x")

        def count():
            while counts[1] < CLIENTS:
                for client in clients:
                    client.look()
                counts[:] = sum(client.is_answered for client in clients), sum(client.is_closed for client in clients)
                time.sleep(0.01)

        threading.Thread(target=count, daemon=True).start()
        return clients

    counts = multiprocessing.Array("i", 2)
    with activated("servers: wrong\n", is_first=bool(variables)) as daemon, Attacker(attack, daemon, counts) as attacker, \
         concurrent.futures.ThreadPoolExecutor() as threads:
        daemon.environment.update(variables)
        attacker.wait()
        start = threads.submit(daemon.start)
        eventually(lambda: counts[0] >= answered and counts[1] >= closed, "clients that are answered, and closed")
        refused = ctl_as_root(daemon, "list")
        equal(refused.status, 69)
        contains(refused.err, "servers")
        daemon.file.write_text(CONFIGURATION)
        start.result()
        list_as_root(daemon)
        before = daemon.descriptors()
        eventually(lambda: daemon.descriptors() < before - CLIENTS // 8, "clients that are closed beside the daemon that has started")


@test("slow-closing clients of a failed start do not hide its reason from root or delay the corrected daemon", limit=120)
def slow_end_of_failed_start():
    close_slowly_after_failed_start({}, answered=CLIENTS, closed=1)


@test("clients of a failed start do no harm if the configuration is corrected before the daemon closes any of them", limit=120)
def quick_end_of_failed_start():
    close_slowly_after_failed_start({}, answered=CLIENTS, closed=0)


@test("clients of a failed start that are slow to close do no harm under a kernel that cannot refuse descriptors", limit=120)
def slow_end_of_failed_start_old_kernel():
    # Under this kernel, the daemon shuts down all connections before it closes the first one.
    close_slowly_after_failed_start(old_kernel(), answered=CLIENTS, closed=CLIENTS)


@test("a client of a failed start that sends a descriptor that is never released does not delay the corrected daemon")
def unending_client_of_failed_start():
    def attack(daemon):
        close_inherited()
        pipe = stuck_pipe(daemon.folder / "dead")
        client = socket.socket(socket.AF_UNIX)
        client.connect(daemon.socket)
        socket.send_fds(client, [b"x"], [pipe])
        os.close(pipe)
        return client

    with activated("servers: wrong\n", is_first=True) as daemon, concurrent.futures.ThreadPoolExecutor() as threads:
        daemon.environment.update(old_kernel())
        with Attacker(attack, daemon) as attacker, dead_disk(daemon.folder / "dead", opens=True):
            attacker.wait()
            start = threads.submit(daemon.start)
            time.sleep(3)  # by then it would have ended without the pipe
            contains(ctl_as_root(daemon, "list").err, "servers")
            daemon.file.write_text(CONFIGURATION)
            start.result()
            list_as_root(daemon)
