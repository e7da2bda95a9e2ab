# SPDX-License-Identifier: Apache-2.0
"""Invariant 16: no operation that another process can slow down blocks the loop."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import time

from harness.attacker import Attacker, as_user, need_root
from harness.bystander import Bystander
from harness.daemon import NOBODY, STATUSD, Daemon, run
from harness.dead_disk import dead_disk, stuck_pipe
from harness.expect import equal, eventually
from harness.faulty_store import faulty_daemon
from harness.preload import preloaded
from harness.runner import test
from harness.tracing import stopped_thread

CONFIGURATION = """
accept: any
servers:
  backup: { notify: { users: [65534] } }
"""
DURATION = 2
"""The seconds for which the bystander measures after the attack."""
LINGER = 20
"""The seconds for which the attacker's socket blocks the process that closes it last."""


def lingering_socket(address="127.0.0.1", seconds=LINGER):
    """A TCP socket with unsent data for a peer that does not read. Closing its last reference blocks."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind((address, 0))
    listener.listen(1)
    lingering = socket.socket()
    lingering.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    lingering.connect(listener.getsockname())
    lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, seconds))
    lingering.setblocking(False)
    try:
        while True:
            lingering.send(b"x" * 65536)
    except BlockingIOError:
        pass
    return lingering, listener.accept()[0]


def hand_over(connect, message, count, keep=True):
    """Sends `count` lingering sockets in one message each; optionally keeps the connections open.

    A child sends them, and holds the last reference except the one in the message: a process that ends does not linger.
    """
    peers, ours = [], []
    for _ in range(count):
        lingering, peer = lingering_socket()
        peers.append(peer)
        reading, writing = os.pipe()
        other = connect()
        child = os.fork()
        if child == 0:
            os.read(reading, 1)
            with contextlib.suppress(OSError):  # refused, which is an answer
                socket.send_fds(other, [message], [lingering.fileno()])
            os._exit(0)
        lingering.close()
        os.write(writing, b"x")
        os.waitpid(child, 0)
        for each in reading, writing:
            os.close(each)
        if keep:
            ours.append(other)
        else:
            other.close()
    return peers, ours


def notify_socket(path):
    """Connects to a notify socket."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    connection.connect(path)
    return connection


def control_socket(path):
    """Connects to the control socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


CALL = b'{"method":"org.statusd.monitor.List"}\0'


def stop_and_time(daemon):
    """Stops the daemon with SIGTERM; fails if it does not end in time."""
    began = time.monotonic()
    equal(daemon.stop(), 0, "exit status")
    print(f"     SIGTERM to the end: {1000 * (time.monotonic() - began):.0f} ms", flush=True)


def measure(attack, act, configuration=CONFIGURATION, variables=(), limits=None, meanwhile=lambda daemon: None):
    """Runs `act(daemon)` as an attacker next to a well-behaved client; prints the client's figures."""
    with Daemon(configuration, start=False, **(limits or {})) as daemon:
        daemon.environment.update(variables)
        daemon.start()
        with Bystander(daemon) as bystander, Attacker(act, daemon) as attacker:
            attacker.wait()
            meanwhile(daemon)
            time.sleep(DURATION)
            bystander.finish(attack)
            stop_and_time(daemon)


def notify_another(daemon):
    began = time.monotonic()
    # Returns when the daemon has closed its descriptor.
    done = run("systemd-notify", "--status=well", env={**os.environ, "NOTIFY_SOCKET": daemon.notify_path("other")})
    equal((done.status, daemon.text("other")), (0, "well"))
    print(f"     another server's barrier: {1000 * (time.monotonic() - began):.0f} ms", flush=True)


@test("sockets that block when they are closed, sent to a notify socket, delay nobody")
def lingering_notify():
    measure("lingering sockets to a notify socket",
            lambda daemon: hand_over(lambda: notify_socket(daemon.notify_path("backup")), b"STATUS=x", 5))


@test("sockets that block when they are closed, sent to the control socket, delay nobody")
def lingering_control():
    measure("lingering sockets to the control socket",
            lambda daemon: hand_over(lambda: control_socket(daemon.socket), CALL, 5))


@test("sockets that block when they are closed delay nobody if clients over the connection limit send them")
def lingering_too_many():
    def attack(daemon):
        kept = [control_socket(daemon.socket) for _ in range(128)]
        return kept, hand_over(lambda: control_socket(daemon.socket), CALL, 5)

    measure("lingering sockets by refused clients", attack)


@test("sockets that block when they are closed delay nobody if their clients disconnect before they are read")
def lingering_left_unread():
    def attack(daemon):
        peers, _ = hand_over(lambda: control_socket(daemon.socket), CALL, 5, keep=False)
        return peers

    measure("lingering sockets left unread", attack)


@test("sockets that block when they are closed delay nobody if a stopping daemon never accepts their clients")
def lingering_never_accepted():
    with Daemon("accept: any\n", start=False) as daemon, contextlib.ExitStack() as stack:
        daemon.start()
        with daemon.connect() as connection:
            for number in range(500):
                connection.call("Post", {"server": f"server{number}", "text": "x" * 1000})
        # An unread answer makes the shutdown take a second.
        stack.enter_context(control_socket(daemon.socket)).sendall(CALL * 100)
        stack.enter_context(daemon.connect()).call("List")
        daemon.process.terminate()
        kept = hand_over(lambda: control_socket(daemon.socket), CALL, 3)
        stop_and_time(daemon)
        del kept


@test("three users who flood the daemon with such sockets delay no newcomer, and few descriptors wait to be closed")
def lingering_flood():
    def attack(daemon, number):
        os.nice(19)
        peers, end = [], time.monotonic() + 2 * DURATION
        while time.monotonic() < end:
            address = f"127.{number}.{time.monotonic_ns() % 250}.1"  # a new address each, so that ports do not run out
            lingering, peer = lingering_socket(address, seconds=1)
            peers.append(peer)
            with contextlib.suppress(OSError), control_socket(daemon.socket) as other:
                socket.send_fds(other, [CALL], [lingering.fileno()])
            lingering.close()
            while len(peers) > 800:
                peers.pop(0).close()

    with Daemon(CONFIGURATION, start=False) as daemon:
        daemon.start()
        before, most, slowest = daemon.descriptors(), 0, 0
        with Bystander(daemon) as bystander:
            with Attacker(attack, daemon, 1, user=NOBODY - 1), Attacker(attack, daemon, 2, user=NOBODY - 2), \
                 Attacker(attack, daemon, 3, user=NOBODY - 3) as attacker:
                while not attacker.is_done():
                    began = time.monotonic()
                    daemon.assert_alive()
                    slowest = max(slowest, time.monotonic() - began)
                    most = max(most, daemon.descriptors() - before)
            bystander.finish("floods of lingering sockets")
        print(f"     at most {most} more descriptors; newcomers: worst {1000 * slowest:.0f} ms", flush=True)
        assert most < 600, f"{most} more descriptors"
        stop_and_time(daemon)


@contextlib.contextmanager
def stuck_release(attack, daemon):
    """Leaves the daemon the last reference to the file that `attack(daemon)` sends and closes. Releasing it blocks on a dead disk until the block ends."""
    with Attacker(attack, daemon) as attacker, dead_disk(daemon.folder / "dead", opens=True):
        daemon.process.send_signal(signal.SIGSTOP)
        attacker.wait()
        daemon.process.send_signal(signal.SIGCONT)
        yield


@test("a configuration whose aliases expand to billions of values is invalid, and delays neither reloads nor the shutdown")
def alias_bomb():
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefghij", "bcdefghijk"))
    as_key = bomb + "? *k\n: 1\n"
    with Daemon(CONFIGURATION) as daemon, Bystander(daemon) as bystander:
        for text in bomb, as_key:
            daemon.file.write_text(text)
            result = daemon.ctl("reload")
            equal((result.status, "aliases add more than 10000 values" in result.err), (78, True), result.err)
        daemon.file.write_text(CONFIGURATION + "  other: { push: true }\n")
        daemon.done("reload")
        bystander.finish("aliases for billions of values")
        stop_and_time(daemon)


@test("a daemon that cannot end does not keep another one from starting, even if its backlog is full")
def unending():
    def attack(daemon):
        pipe = stuck_pipe(daemon.folder / "dead")
        socket.send_fds(notify_socket(daemon.notify_path("backup")), [b"STATUS=x"], [pipe])
        os.close(pipe)
        return pipe

    def connect_often(path):
        for _ in range(300):
            # If the pipe is released by the end of the process, its sockets may be closed already.
            with contextlib.suppress(BlockingIOError, ConnectionRefusedError), socket.socket(socket.AF_UNIX) as client:
                client.setblocking(False)
                client.connect(path)

    with Daemon("servers: { backup: { notify: { users: [65534] } } }\n", start=False) as daemon:
        os.chmod(daemon.folder, 0o755)
        daemon.start()
        with stuck_release(attack, daemon):
            eventually(lambda: daemon.text("backup") == "x", "the text beside the pipe")
            first = daemon.process
            first.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"nothing kept the daemon from ending: {first.wait(1)}")
            as_user(NOBODY, connect_often, f"{daemon.socket}.live")
            daemon.start()
            daemon.assert_alive()
            equal(daemon.stop(), 0, "exit status")
        first.wait(15)



@test("users without access cannot open the daemon's directories or search that of the notify sockets, so cannot lock them")
def locked_directories():
    need_root()

    def refused(call, *arguments):
        try:
            call(*arguments)
        except PermissionError:
            return True
        return False

    def compete(daemon):
        os.nice(19)
        opened = [folder for folder in (daemon.runtime, daemon.runtime / "notify") if not refused(os.open, folder, os.O_RDONLY)]
        for _ in range(20):
            if os.fork() == 0:
                while True:
                    with contextlib.suppress(OSError):
                        os.mkdir(daemon.runtime / "notify" / "x")
        (daemon.folder / "notes" / "opened").write_text(f"{opened} {refused(os.stat, daemon.notify_path('backup'))}")
        return opened

    with Daemon(CONFIGURATION) as daemon:
        (daemon.folder / "notes").mkdir()
        os.chmod(daemon.folder / "notes", 0o777)
        with Bystander(daemon) as bystander, Attacker(compete, daemon, user=NOBODY - 1) as attacker:
            attacker.wait()
            equal((daemon.folder / "notes" / "opened").read_text(), "[] True")
            for number in range(20):
                daemon.file.write_text(CONFIGURATION + f"  other{number}: {{ notify: true }}\n")
                daemon.done("reload")
                daemon.done("post", f"new{number}", "here")
            bystander.finish("competing for the lock of the notify sockets' directory")
            stop_and_time(daemon)
            daemon.start()
            daemon.assert_alive()


@test("invariant 14: No keep-alive is sent while the loop's thread alone is stopped; once it runs again, they resume")
def stopped_loop():
    with Daemon(CONFIGURATION, start=False) as daemon:
        flag = daemon.folder / "slow"
        daemon.environment.update(preloaded("slow_disk"), SLOW_DISK=flag, WATCHDOG_USEC="200000")
        daemon.start()

        def keep_alives():
            return daemon.manager.lines().count("WATCHDOG=1")

        eventually(lambda: keep_alives() > 3, "keep-alives")
        # This thread could continue by itself: it waits for the disk.
        flag.touch()
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/task")) > 1, "another thread")
        with stopped_thread(daemon.process.pid):
            before = keep_alives()
            time.sleep(1)
            equal(keep_alives(), before, "keep-alives while the loop stood still")
        eventually(lambda: keep_alives() > before + 3, "keep-alives of a loop that runs again")
        stop_and_time(daemon)


@test("a configuration on a disk that does not answer delays neither clients nor the shutdown, at a reload or a start")
def slow_disk():
    with Daemon(CONFIGURATION, start=False) as daemon:
        flag = daemon.folder / "slow"
        daemon.environment.update(preloaded("slow_disk"), SLOW_DISK=flag)
        for reload in (lambda: daemon.process.send_signal(signal.SIGHUP), lambda: daemon.follow("reload")):
            daemon.start()
            with Bystander(daemon) as bystander:
                flag.touch()
                begun = reload()
                eventually(lambda: "RELOADING=1" in daemon.manager.lines(), "a reload")
                time.sleep(0.5)
                bystander.finish("a configuration on a disk that does not answer")
            began = time.monotonic()
            stop_and_time(daemon)
            assert time.monotonic() - began < 5
            if begun:
                begun.wait()
            flag.unlink()
        flag.touch()
        process = subprocess.Popen([STATUSD], env=daemon.environment, stderr=subprocess.DEVNULL)
        eventually(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 1, "a thread that waits for the disk")
        process.send_signal(signal.SIGTERM)
        equal(process.wait(5), 0, "exit status of a daemon that was about to start")
        # Not the status of an invalid configuration, after which the service manager does not try again.
        equal(subprocess.run([STATUSD], env=daemon.environment, stderr=subprocess.DEVNULL).returncode, 1, "exit status after ten seconds")


@test("a client that requests a reload and disconnects while the disk is slow does not affect the reloads of others")
def left_reload():
    with Daemon(CONFIGURATION, start=False) as daemon:
        flag = daemon.folder / "slow"
        daemon.environment.update(preloaded("slow_disk"), SLOW_DISK=flag)
        daemon.start()
        flag.touch()
        with daemon.connect() as connection:
            connection.send("Reload")
            eventually(lambda: "RELOADING=1" in daemon.manager.lines(), "a reload")
        with daemon.follow("reload") as other:
            eventually(lambda: daemon.manager.lines().count("RELOADING=1") == 2, "another reload")
            flag.unlink()
            hint = "statusctl: no answer for 5 s, still waiting; see the messages of that daemon"
            equal((other.wait(), set(other.errors) - {hint}), (0, set()))
        stop_and_time(daemon)


@test("clients that ask for the history and leave while its disk does not answer leave nothing behind")
def abandoned_queries():
    with faulty_daemon("servers: { db: { push: true } }\n") as (daemon, store):
        daemon.done("post", "db", "Signed In")
        store.hang("look")
        call = json.dumps({"method": "org.statusd.monitor.History", "parameters": {"all": True}, "more": True}).encode() + b"\0"
        waiting = []

        def ask(count):
            for _ in range(count):
                client = socket.socket(socket.AF_UNIX)
                client.connect(str(daemon.socket))
                client.send(call)
                waiting.append(client)
                if len(waiting) > 50:
                    waiting.pop(0).close()

        ask(2000)
        before = daemon.resident()
        ask(20000)
        for client in waiting:
            client.close()
        eventually(lambda: daemon.descriptors() < 50, "closed connections")
        grown = daemon.resident() - before
        assert grown < 4000, f"the daemon has grown by {grown} KiB"
        store.work()
        equal([c["kind"] for c in daemon.history(server="db")], ["added", "changed"])
        assert "no error for" not in daemon.log(), daemon.log()
