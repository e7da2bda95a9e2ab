# SPDX-License-Identifier: Apache-2.0
"""Invariant 16: nothing that another process can slow down blocks the loop."""

import contextlib
import ctypes
import json
import os
import pathlib
import resource
import select
import signal
import socket
import struct
import subprocess
import time

from harness.attacker import Attacker, as_user, need_root
from harness.bystander import Bystander
from harness.daemon import NOBODY, STATUSD, Daemon, run
from harness.dead_disk import dead_disk, stuck_pipe
from harness.expect import Skip, contains, equal, eventually
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
    """Runs `act(daemon)` as an attacker beside a well-behaved client; prints the client's figures."""
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


@test("more such sockets than the daemon's descriptor limit, each queued in another one, delay nobody", limit=120)
def lingering_crowd():
    def attack(daemon):
        resource.setrlimit(resource.RLIMIT_NOFILE, (16_384, 16_384))
        sender = notify_socket(daemon.notify_path("backup"))
        sender.setblocking(False)
        peers, nested, unsent = [], [], []
        for _ in range(4500):
            lingering, peer = lingering_socket()
            peers.append(peer)
            inner, outer = socket.socketpair()
            socket.send_fds(inner, [b"x"], [lingering.fileno()])
            lingering.close()
            inner.close()
            nested.append(outer)
        for start in range(0, len(nested), 250):
            some = nested[start:start + 250]
            try:
                socket.send_fds(sender, [b"STATUS=x"], [each.fileno() for each in some])
            except BlockingIOError:  # the queue is full; closing the rest would block this process
                unsent += some
                continue
            for each in some:
                each.close()
        return peers, unsent

    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))}
    measure("more lingering sockets than there are descriptors", attack, CONFIGURATION + "  other: { notify: true }\n",
            limits=limits, meanwhile=notify_another)


def detach_file_system(files):
    """A pipe that is a file and the last reference to a file system with so many files."""
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result):
        if result != 0:
            raise Skip(f"no file system of one's own: {os.strerror(ctypes.get_errno())}")

    user, group = os.getuid(), os.getgid()
    libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, which the change of user cleared
    check(libc.unshare(0x10000000 | 0x20000))  # CLONE_NEWUSER, CLONE_NEWNS
    for name, text in ("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1"):
        pathlib.Path("/proc/self", name).write_text(text)
    check(libc.mount(b"tmpfs", b"/mnt", b"tmpfs", 0, b"nr_inodes=0"))
    for number in range(files):
        os.close(os.open(f"/mnt/{number}", os.O_CREAT | os.O_WRONLY))
    os.mkfifo("/mnt/pipe")
    pipe = os.open("/mnt/pipe", os.O_RDWR)
    check(libc.umount2(b"/mnt", 2))  # MNT_DETACH
    return pipe


@test("a pipe that is the last reference to a large file system, sent to a notify socket, delays nobody", limit=120)
def detached_pipe():
    def attack(daemon):
        sender = notify_socket(daemon.notify_path("backup"))
        try:
            pipe = detach_file_system(files=200_000)
        except (OSError, Skip) as reason:
            print(f"     {reason}", flush=True)
            return
        socket.send_fds(sender, [b"STATUS=x"], [pipe])
        os.close(pipe)

    measure("a pipe of a file system that goes with it", attack)


@test("files that can never be closed, sent to many notify sockets, delay neither other sockets nor the shutdown")
def unclosable():
    def attack(daemon):
        path = daemon.folder / "dead" / "file"
        eventually(path.exists, "the file system")
        file = os.open(path, os.O_RDWR)
        for number in range(20):
            socket.send_fds(notify_socket(daemon.notify_path(f"backup{number}")), [b"STATUS=x"], [file] * 100)
        return file

    servers = "".join(f"  backup{number}: {{ notify: {{ users: [65534] }} }}\n" for number in range(20))
    with Daemon("servers:\n  other: { notify: true }\n" + servers, start=False) as daemon:
        os.chmod(daemon.folder, 0o755)
        daemon.start()
        # Removes the disk first, because the attacker cannot end before.
        with Attacker(attack, daemon) as attacker, dead_disk(daemon.folder / "dead", opens=True), Bystander(daemon) as bystander:
            attacker.wait()
            for number in range(20):
                eventually(lambda: daemon.text(f"backup{number}") == "x", "the text beside the descriptors")
            notify_another(daemon)
            bystander.finish("files that never can be closed")
            stop_and_time(daemon)


@test("sockets that block when they are closed, sent to the control socket, delay nobody")
def lingering_control():
    measure("lingering sockets to the control socket",
            lambda daemon: hand_over(lambda: control_socket(daemon.socket), CALL, 5))


def old_kernel():
    """The environment that simulates a kernel which cannot refuse descriptors (before Linux 6.16)."""
    return preloaded("old_kernel")


@test("sockets that block when they are closed delay nobody under a kernel that cannot refuse descriptors")
def lingering_old_kernel():
    measure("lingering sockets to the control socket, kernel before 6.16",
            lambda daemon: hand_over(lambda: control_socket(daemon.socket), CALL, 5), variables=old_kernel())


@test("sockets that block when they are closed delay nobody if clients over the connection limit send them")
def lingering_too_many():
    def attack(daemon):
        kept = [control_socket(daemon.socket) for _ in range(128)]
        return kept, hand_over(lambda: control_socket(daemon.socket), CALL, 5)

    measure("lingering sockets by refused clients, kernel before 6.16", attack, variables=old_kernel())


@test("sockets that block when they are closed delay nobody if their clients disconnect before they are read")
def lingering_left_unread():
    def attack(daemon):
        peers, _ = hand_over(lambda: control_socket(daemon.socket), CALL, 5, keep=False)
        return peers

    measure("lingering sockets left unread, kernel before 6.16", attack, variables=old_kernel())


@test("sockets that block when they are closed delay nobody if a stopping daemon never accepts their clients")
def lingering_never_accepted():
    with Daemon("accept: any\n", start=False) as daemon, contextlib.ExitStack() as stack:
        daemon.environment.update(old_kernel())
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
        daemon.environment.update(old_kernel())
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


@test("a notification queued behind descriptors that are slow to release does not replace a newer one")
def late_release():
    def attack(daemon):
        pipe = stuck_pipe(daemon.folder / "dead")
        sender = notify_socket(daemon.notify_path("backup"))
        socket.send_fds(sender, [b"STATUS=first"], [pipe])
        sender.send(b"STATUS=late")
        os.close(pipe)
        return pipe

    configuration = "servers: {{ backup: {{ notify: {{ users: [{}] }} }}, other: {{ notify: true }} }}\n"
    with Daemon(configuration.format(NOBODY), start=False) as daemon:
        os.chmod(daemon.folder, 0o755)
        daemon.start()
        before = daemon.descriptors()
        with stuck_release(attack, daemon):
            eventually(lambda: daemon.text("backup") == "first", "the text beside the pipe")
            daemon.file.write_text(configuration.format(f"{NOBODY}, {NOBODY - 1}"))
            daemon.done("reload")
            notify_socket(daemon.notify_path("backup")).send(b"STATUS=newer")
            eventually(lambda: daemon.text("backup") == "newer", "the text sent to the new socket")
        eventually(lambda: daemon.descriptors() <= before, "the former socket is closed")
        equal(daemon.text("backup"), "newer")


WATCHES = 40_000
"""How often an attacker's socket is watched. Each message that the daemon receives or sends wakes all of them, which takes some 4 ms."""


def in_child(prepare, go_on=lambda: time.sleep(0.1)):
    """Starts a child that prepares an attack. Once the child is ready, this returns, and the child continues until this process ends."""
    reading, writing = os.pipe()
    parent = os.getpid()
    if os.fork() == 0:
        try:
            kept = prepare()
            os.write(writing, b"x")
            while os.getppid() == parent:
                go_on()
            del kept
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read(1), "the child could not prepare it"


def watch_often(connection, watches=WATCHES):
    """Watches a socket many times, from a child, because a process is limited to about a thousand descriptors."""
    count = int(watches ** 0.5)

    def watch():
        twins = [os.dup(connection.fileno()) for _ in range(count)]
        kept = [select.epoll() for _ in range(count)]
        for each in kept:
            for twin in twins:
                each.register(twin, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        return twins, kept

    in_child(watch)


def await_room(connection, waits=WATCHES):
    """Makes many watches in children wait for room in a socket. Sending to it wakes none of them; receiving from it wakes all."""
    room, poll = select.epoll(), select.poll()
    room.register(connection, select.EPOLLOUT | select.EPOLLET)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    children = waits // (most - 1000) + 1

    def wait():
        poll.poll(100)
        room.poll(0)

    for _ in range(children):
        in_child(lambda: [poll.register(os.dup(room.fileno()), select.POLLIN) for _ in range(waits // children)], wait)


def time_of_other_threads(daemon):
    """The seconds of processor time of all the daemon's threads except the loop's (proc_pid_stat(5))."""
    def taken(path):
        return sum(map(int, pathlib.Path(path).read_text().rsplit(")", 1)[1].split()[11:13]))

    process = daemon.process.pid
    return (taken(f"/proc/{process}/stat") - taken(f"/proc/{process}/task/{process}/stat")) / os.sysconf("SC_CLK_TCK")


@test("clients whose sockets thousands of epoll watches slow down do not delay others", limit=150)
def watched_sockets():
    need_root()

    def attack(daemon, watch, message, size):
        os.nice(19)
        kept = []
        for _ in range(10):
            with contextlib.suppress(OSError):  # refused after the first ones
                connection = control_socket(daemon.socket)
                watch(connection)
                connection.setblocking(False)
                kept.append(connection)
        end = time.monotonic() + DURATION
        while time.monotonic() < end:
            for connection in kept:
                with contextlib.suppress(OSError):
                    for start in range(0, len(message), size):
                        connection.send(message[start:start + size])
                with contextlib.suppress(OSError):
                    connection.recv(1 << 16)
            time.sleep(0.001)

    oneway = b'{"method":"org.varlink.service.GetInfo","oneway":true}\0'
    watch = b'{"method":"org.statusd.monitor.Watch","parameters":{"all":true},"more":true}\0'
    for name, act, message, size in (
        ("calls", watch_often, CALL, 1000),
        ("calls byte by byte", watch_often, CALL, 1),
        ("oneway calls", watch_often, oneway * 20, 5),
        ("streams", watch_often, watch, 1000),
        ("oneway calls, which wake whoever waits for room,", await_room, oneway * 20, 5),
    ):
        with Daemon(CONFIGURATION) as daemon, Attacker(attack, daemon, act, message, size) as attacker, Bystander(daemon) as bystander:
            with daemon.connect() as connection:
                while not attacker.is_done():
                    connection.call("Post", {"server": "db", "text": str(time.monotonic())})
                    time.sleep(0.01)
            bystander.finish(f"{name} by sockets that are watched very often")
            if act is watch_often:
                assert time_of_other_threads(daemon) > 0.1, "the watches cost nothing, so nothing was tested"
            stop_and_time(daemon)


@test("a sender whose socket thousands of epoll watches slow down delays nobody, and its notifications arrive")
def watched_sender():
    def attack(daemon):
        os.nice(19)
        sender = notify_socket(daemon.notify_path("backup"))
        watch_often(sender)
        end, number = time.monotonic() + DURATION, 0
        while time.monotonic() < end:
            number += 1
            sender.send(b"STATUS=%d" % number)
            time.sleep(0.001)
        sender.send(b"STATUS=last")

    with Daemon(CONFIGURATION) as daemon, Attacker(attack, daemon) as attacker, Bystander(daemon) as bystander:
        while not attacker.is_done():
            time.sleep(0.1)
        eventually(lambda: daemon.text("backup") == "last", "the last text")
        bystander.finish("a sender whose socket is watched very often")
        stop_and_time(daemon)


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
        parent = os.getpid()
        for _ in range(20):
            if os.fork() == 0:
                while os.getppid() == parent:
                    with contextlib.suppress(OSError):
                        os.mkdir(daemon.runtime / "notify" / "x")
                os._exit(0)
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
