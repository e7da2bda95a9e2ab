# SPDX-License-Identifier: Apache-2.0
"""Invariants 15 to 17: floods of clients cost others little, and the daemon a bounded amount of memory."""

import contextlib
import json
import multiprocessing
import os
import random
import resource
import select
import socket
import time
import unicodedata

from harness.attacker import Attacker, need_root
from harness.bystander import USER, Bystander
from harness.daemon import NOBODY, Daemon
from harness.runner import test
from harness.varlink import Connection, VarlinkError

from .test_freezing import DURATION, control_socket, notify_socket, stop_and_time

INTERFACE = "org.statusd.monitor"
LIST = b'{"method":"org.statusd.monitor.List"}\0'
WATCH = b'{"method":"org.statusd.monitor.Watch","parameters":{"all":true},"more":true}\0'
HISTORY = b'{"method":"org.statusd.monitor.History","parameters":{"all":true},"more":true}\0'
DESCRIBE = b'{"method":"org.statusd.monitor.Describe","parameters":{"server":"server7"}}\0'
METRICS = b'{"method":"io.systemd.Metrics.List","more":true}\0'
SERVERS = 4000


def fill(daemon, servers):
    """Posts long texts to many servers: several megabytes in all."""
    with daemon.connect() as connection:
        for number in range(servers):
            connection.call("Post", {"server": f"server{number}", "text": f"{number} " + "x" * 1000})


def until_the_end():
    """Yields until an attack has lasted long enough."""
    end = time.monotonic() + DURATION
    while time.monotonic() < end:
        yield


def flood(attack, act, duration=DURATION, servers=SERVERS, meanwhile=lambda daemon: None, groups=()):
    """Runs `act(daemon)` as an attacker next to a well-behaved client of many servers; returns the growth in MB."""
    with Daemon("accept: any\n") as daemon:
        fill(daemon, servers)
        with Bystander(daemon) as bystander, Attacker(act, daemon, groups=groups) as attacker:
            attacker.wait()
            meanwhile(daemon)
            time.sleep(duration)
            before = bystander.before[0]
            grown = (daemon.resident() - before) / 1024
            bystander.finish(attack)
            stop_and_time(daemon)
    return grown


def send_what_fits(connection, data):
    """Sends until the socket is full; returns the number of sent bytes."""
    try:
        return connection.send(data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0
    except (BrokenPipeError, ConnectionResetError):
        return -1


def drain(connection):
    """Reads everything that has arrived."""
    try:
        while connection.recv(1 << 20, socket.MSG_DONTWAIT):
            pass
    except (BlockingIOError, ConnectionResetError):
        pass


@test("a hundred clients that list all servers and do not read cost a bounded amount of memory", limit=120)
def unread_answers():
    def attack(daemon):
        kept = [control_socket(daemon.socket) for _ in range(120)]
        for number, connection in enumerate(kept):
            send_what_fits(connection, WATCH if number % 2 else LIST * 1000)
        return kept

    def switch(daemon):
        # Each switch writes to all streams, whether there is room or not.
        with daemon.connect() as connection:
            for number in range(300):
                connection.call("Select", {"server": f"server{number}"})

    grown = flood("clients that do not read", attack, meanwhile=switch)
    assert grown < 32, f"the daemon grew by {grown:.0f} MB"


@test("clients that list all servers and disconnect cost no time", limit=120)
def departed():
    def attack(daemon):
        for _ in until_the_end():
            for _ in range(8):
                with control_socket(daemon.socket) as connection:
                    send_what_fits(connection, LIST * 5000)

    flood("clients that ask and leave", attack, duration=0)


@test("clients that ask for the history and disconnect cost a bounded amount of memory, also if other processes take the processors", limit=120)
def departed_from_history():
    def attack(daemon):
        for _ in until_the_end():
            connections = [control_socket(daemon.socket) for _ in range(60)]
            for number, connection in enumerate(connections):
                send_what_fits(connection, HISTORY * (20 if number % 3 == 0 else 1))
            # Half of the calls are begun.
            time.sleep(random.choice((0, 0.01)))
            for connection in connections:
                connection.close()

    def spin(_):
        while True:
            pass

    with Daemon("accept: any\n") as daemon, daemon.connect() as poster:
        poster.call("Post", {"server": "db", "text": "first"})
        before = most = daemon.resident()
        with contextlib.ExitStack() as stack:
            for _ in range(2 * os.cpu_count()):
                stack.enter_context(Attacker(spin, daemon))
            attacker = stack.enter_context(Attacker(attack, daemon))
            while not attacker.is_done():
                # Callers of History wait until this is saved.
                poster.call("Post", {"server": "db", "text": f"{time.monotonic()}"})
                most = max(most, daemon.resident())
                time.sleep(0.01)
        grown = (most - before) / 1024
        print(f"     {grown:.1f} MB", flush=True)
        assert grown < 16, f"the daemon grew by {grown:.0f} MB"
        stop_and_time(daemon)


@test("clients that list all servers, and read the answers, do not delay others", limit=120)
def read_answers():
    def attack(daemon):
        connections = [control_socket(daemon.socket) for _ in range(64)]
        for _ in until_the_end():
            for connection in connections:
                send_what_fits(connection, LIST)
                drain(connection)

    flood("clients that read everything again and again", attack, duration=0)


MARKS = "".join(sorted(map(chr, range(0x300, 0x34f)), key=unicodedata.combining, reverse=True))
"""Combining characters in an order in which sorting them, as for a comparison of strings, takes the square of their number."""

COSTLY = {
    # Two of these make one flag, so all of them decide where a character begins.
    "names of flags": ('{"method":"', "\U0001F1E6", '"}'),
    "names of combining characters": ('{"method":"e', "\u0301", '"}'),
    "names of escapes": ('{"method":"', r"\u0041", '"}'),
    "texts of control characters": ('{"method":"org.statusd.monitor.Wait","parameters":{"server":"db","text":"', "\u0080", '"}}'),
    "texts of white space": ('{"method":"org.statusd.monitor.Wait","parameters":{"server":"db","text":"', "\u0085", '"}}'),
    "texts of escapes": ('{"method":"org.statusd.monitor.Wait","parameters":{"server":"db","text":"', r"\u0001", '"}}'),
    "names of unsorted marks": ('{"method":"', MARKS, '"}'),
    "members of unsorted marks": ('{"method":"org.statusd.monitor.List","parameters":{"', MARKS, '":1}}'),
    "levels of unsorted marks": ('{"method":"org.statusd.monitor.Wait","parameters":{"server":"db","level":"', MARKS, '"}}'),
    "servers of unsorted marks": ('{"method":"org.statusd.monitor.Describe","parameters":{"server":"', MARKS, '"}}'),
    "epochs of unsorted marks": ('{"method":"org.statusd.monitor.Watch","more":true,"parameters":{"since":{"revision":1,"epoch":"', MARKS, '"}}}'),
    "interfaces of unsorted marks": ('{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"', MARKS, '"}}'),
}
"""Input that is slow to parse for its length: the start of a call, the repeated part, and the end."""


@test("calls that are slow to parse do not delay others", limit=300)
def costly_calls():
    for kind, (start, part, end) in COSTLY.items():
        call = (start + part * ((65000 - len(start)) // len(part.encode())) + end).encode() + b"\0"

        def attack(daemon, call=call):
            connections = [[control_socket(daemon.socket), call] for _ in range(64)]
            for _ in until_the_end():
                for connection in connections:
                    sent = max(0, send_what_fits(*connection))
                    connection[1] = connection[1][sent:] or call
                    drain(connection[0])

        flood(f"calls with {kind}", attack, duration=0, servers=40)


LONG_STATUSES = {"invalid UTF-8": b"\xff", "combining characters": "\u0301".encode(), "flags": "\U0001F1E6".encode(),
                 "unsorted marks": MARKS.encode(), "control characters": "\u0080".encode(), "white space": "\u0085".encode(), "empty lines": b"\n"}
"""Notifications that are slow to parse for their length."""


@test("notifications that are slow to parse do not delay others", limit=180)
def long_notifications():
    names = [f"server{number}" for number in range(20)]
    servers = "".join(f"  {name}: {{ notify: {{ users: ['{NOBODY}'] }} }}\n" for name in names)
    for kind, part in LONG_STATUSES.items():
        datagram = b"STATUS=" + part * (65000 // len(part))

        def attack(daemon, datagram=datagram):
            senders = []
            for name in names * 5:
                sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                sender.connect(daemon.notify_path(name))
                senders.append(sender)
            for _ in until_the_end():
                for sender in senders:
                    send_what_fits(sender, datagram)

        with Daemon("servers:\n" + servers) as daemon:
            with Bystander(daemon) as bystander, Attacker(attack, daemon) as attacker:
                attacker.wait()
                bystander.finish(f"notifications of {kind}")
                stop_and_time(daemon)


@test("servers that are added by posts and forgotten, again and again, leave nothing behind", limit=120)
def coming_and_going():
    with Daemon("accept: any\n") as daemon, daemon.connect() as connection:
        def come_and_go(names):
            for name in names:
                for text in ("one", "two"):
                    connection.call("Post", {"server": name, "text": text})
                connection.call("Forget", {"server": name})

        # Until then, the buffers of the history and of the allocator grow.
        come_and_go(f"first{number}" for number in range(8000))
        before = daemon.resident()
        for _ in range(4):
            come_and_go(f"same{number}" for number in range(2000))
        come_and_go(f"other{number}" for number in range(8000))
        grown = (daemon.resident() - before) / 1024
        print(f"     16,000 servers that came and went: {grown:.1f} MB", flush=True)
        assert grown < 2, f"the daemon grew by {grown:.1f} MB"


@test("clients that pipeline calls with long answers, and read them, do not delay others", limit=120)
def pipelined_lists():
    def attack(daemon):
        connections = [control_socket(daemon.socket) for _ in range(30)]
        for _ in until_the_end():
            for connection in connections:
                send_what_fits(connection, LIST * 400)
                drain(connection)

    flood("clients that pipeline lists", attack, duration=0, servers=30)


@test("clients that list metrics all the time, beside others that pipeline calls, do not delay others", limit=120)
def metrics():
    def attack(daemon):
        connections = [control_socket(daemon.socket) for _ in range(120)]
        for _ in until_the_end():
            for number, connection in enumerate(connections):
                send_what_fits(connection, METRICS * 100 if number % 3 == 0 else DESCRIBE * 100)
                drain(connection)

    flood("clients that list metrics", attack, duration=0)


@contextlib.contextmanager
def crowd(act, daemon, users, places=120):
    """Makes users with many connections each call `act` with them repeatedly once all are connected, until the attack ends."""
    are_connected = multiprocessing.get_context("fork").Barrier(users + 1)

    def attack(daemon):
        # This measures the daemon: a service gets its share of the processors however many processes users run.
        os.nice(19)
        connections = [control_socket(daemon.socket) for _ in range(places)]
        are_connected.wait(60)
        for _ in until_the_end():
            act(connections)

    need_root()
    with contextlib.ExitStack() as stack:
        attackers = [stack.enter_context(Attacker(attack, daemon, user=50_000 + number)) for number in range(users)]
        are_connected.wait(60)
        yield
        for attacker in attackers:
            attacker.wait()


@test("ten users who pipeline calls with long answers, and read them, do not delay others", limit=120)
def pipelined_lists_of_many():
    def ask_and_read(connections):
        for connection in connections:
            send_what_fits(connection, LIST * 400)
            drain(connection)

    with Daemon("accept: any\n") as daemon:
        fill(daemon, SERVERS)
        with Bystander(daemon) as bystander:
            with crowd(ask_and_read, daemon, users=10):
                pass
            bystander.finish("ten users who pipeline lists")
            stop_and_time(daemon)


@test("thousands of streams do not delay others, during many posts or many selections", limit=120)
def many_streams():
    def begin_and_read(connections):
        for connection in connections:
            send_what_fits(connection, WATCH)
        readable = select.epoll()
        by_number = {connection.fileno(): connection for connection in connections}
        for number in by_number:
            readable.register(number, select.EPOLLIN)
        for _ in until_the_end():
            for number, _ in readable.poll(0.1):
                drain(by_number[number])

    def flood_with(calls):
        def attack(daemon):
            rest = calls
            with control_socket(daemon.socket) as connection:
                for _ in until_the_end():
                    rest = rest[max(0, send_what_fits(connection, rest)):] or calls
                    drain(connection)
        return attack

    def calls(method, text):
        return b"".join(b'{"method":"%s.%s","parameters":{"server":"server%d"%s}}\0' % (
            INTERFACE.encode(), method, number % 10, text % number if text else b"") for number in range(2000))

    for what, flood in ("posts", calls(b"Post", b',"text":"number %d"')), ("selections", calls(b"Select", b"")):
        with Daemon("accept: any\n") as daemon:
            fill(daemon, 10)
            with crowd(begin_and_read, daemon, users=16):
                with Bystander(daemon) as bystander, Attacker(flood_with(flood), daemon, user=0) as attacker:
                    attacker.wait()
                    bystander.finish(f"1920 streams, and floods of {what}")
            stop_and_time(daemon)


@test("endless messages cost nothing, even during floods by the same user", limit=120)
def endless_messages():
    def attack(daemon):
        busy = [control_socket(daemon.socket) for _ in range(110)]
        endless = [control_socket(daemon.socket) for _ in range(10)]
        for _ in until_the_end():
            for connection in busy:
                send_what_fits(connection, DESCRIBE * 1000)
            for connection in endless:
                send_what_fits(connection, b" " * (1 << 20))
            for connection in busy:
                drain(connection)

    grown = flood("messages without end", attack, duration=0, servers=40)
    assert grown < 32, f"the daemon grew by {grown:.0f} MB"


@test("floods of small calls do not delay others", limit=120)
def small_calls():
    def attack(daemon):
        connections = [control_socket(daemon.socket) for _ in range(100)]
        for _ in until_the_end():
            for connection in connections:
                send_what_fits(connection, DESCRIBE * 1000)
            for connection in connections:
                drain(connection)

    flood("floods of small calls", attack, duration=0)


@test("clients that connect and disconnect, again and again, do not delay others", limit=120)
def connecting():
    def attack(daemon):
        for _ in until_the_end():
            for connection in [control_socket(daemon.socket) for _ in range(100)]:
                connection.close()

    flood("clients that connect and leave", attack, duration=0)


@test("clients in the largest possible number of groups cost neither time nor memory", limit=120)
def groups():
    def attack(daemon):
        kept = [control_socket(daemon.socket) for _ in range(100)]
        for connection in kept:
            connection.sendall(b'{"method":"org.statusd.monitor.Post","parameters":{"server":"a","text":"x"}}\0')
        for _ in until_the_end():
            for connection in [control_socket(daemon.socket) for _ in range(100)]:
                connection.close()
        return kept

    need_root()
    grown = flood("clients in 65,536 groups that connect and leave", attack, servers=40, groups=[7] * 65_536)
    assert grown < 12, f"the daemon grew by {grown:.0f} MB"


@test("the daemon keeps no long part of a client's last call", limit=120)
def long_names():
    def attack(daemon):
        kept = [control_socket(daemon.socket) for _ in range(120)]
        for connection in kept:
            # The escape moves the decoded name away from its place in the message.
            connection.sendall(b'{"method":"\\u0061%s","parameters":{},"oneway":true}\0' % (b"a" * 64_000))
        time.sleep(1)
        for connection in kept:
            connection.sendall(b" " * 60_000)
        return kept

    grown = flood("calls with long names", attack, servers=40)
    assert grown < 22, f"the daemon grew by {grown:.0f} MB"


@test("hundreds of concurrent waits that end at once do not delay others", limit=120)
def waits():
    call = b'{"method":"%s.Wait","parameters":{"server":"server7","text":"never","timeoutMilliseconds":1}}\0' % INTERFACE.encode()

    def attack(daemon):
        waiting = [control_socket(daemon.socket) for _ in range(100)]
        busy = [control_socket(daemon.socket) for _ in range(20)]
        for _ in until_the_end():
            for connection in waiting:
                send_what_fits(connection, call * 20)
            for connection in busy:
                send_what_fits(connection, DESCRIBE * 1000)
            for connection in waiting + busy:
                drain(connection)

    def wait(daemon):
        with daemon.connect() as connection:
            times = []
            for _ in until_the_end():
                began = time.monotonic()
                with contextlib.suppress(VarlinkError):
                    connection.call("Wait", {"server": "server7", "text": "never", "timeoutMilliseconds": 10})
                times.append(1000 * (time.monotonic() - began) - 10)
        times.sort()
        print(f"     others' waits of 10 ms: late by {times[len(times) // 2]:.2f} ms, worst {times[-1]:.1f} ms", flush=True)

    with Daemon("accept: any\n") as daemon:
        fill(daemon, 40)
        with Bystander(daemon) as bystander, Attacker(attack, daemon):
            wait(daemon)
            bystander.finish("waits that end at once")
            stop_and_time(daemon)


@test("waits for a text that looks like another do not delay posts", limit=120)
def lookalikes():
    # The same accents, as one code point and as two.
    wait = json.dumps({"method": f"{INTERFACE}.Wait", "parameters": {"server": "db", "text": "e\u0301" * 340 + "b"}}).encode() + b"\0"

    def attack(daemon):
        kept = [control_socket(daemon.socket) for _ in range(120)]
        for connection in kept:
            connection.sendall(wait)
        return kept

    with Daemon("accept: any\n") as daemon, daemon.connect() as connection:
        connection.call("Post", {"server": "db", "text": "é" * 340 + "a"})
        with Bystander(daemon) as bystander, Attacker(attack, daemon) as attacker:
            attacker.wait()
            end = time.monotonic() + DURATION
            while time.monotonic() < end:
                for number in range(60):
                    connection.send("Post", {"server": "db", "text": "é" * 340 + f"{number % 10}"})
                for _ in range(60):
                    connection.receive()
            bystander.finish("waits for lookalikes")
            stop_and_time(daemon)


@test("many users with one connection each, all sending calls that are slow to parse, do not delay others", limit=120)
def costly_calls_of_many():
    strings = rb'"\n",' * 12_000
    call = b'{"method":"org.statusd.monitor.Wait","parameters":{"x":[%s0]},"oneway":true}\0' % strings
    rest = {}

    def ask(connections):
        for connection in connections:
            left = rest.get(connection, call)
            rest[connection] = left[max(0, send_what_fits(connection, left)):] or call
            select.select([], [connection], [], 0.1)

    for users in 10, 100:
        with Daemon("accept: any\n") as daemon:
            fill(daemon, 10)
            with Bystander(daemon) as bystander, Bystander(daemon, user=0) as root:
                with crowd(ask, daemon, users, places=1):
                    pass
                bystander.finish(f"{users} users with a connection each and costly calls")
                root.finish("the same, to root")
                stop_and_time(daemon)


@test("one change that answers the waits of many users does not delay others", limit=120)
def waits_of_many():
    call = b'{"method":"org.statusd.monitor.Wait","parameters":{"server":"web","level":"%s"}}\0'
    calls = call % b"critical" + call % b"ok"
    rest = {}

    def wait_again(connections):
        for connection in connections:
            left = rest.get(connection, calls)
            rest[connection] = left[max(0, send_what_fits(connection, left)):] or calls
            drain(connection)
        time.sleep(0.05)

    with Daemon("servers: { web: { notify: true } }\n") as daemon:
        with crowd(wait_again, daemon, users=15), notify_socket(daemon.notify_path("web")) as sender:
            with Bystander(daemon) as bystander:
                for number, _ in enumerate(until_the_end()):
                    sender.send(b"READY=1" if number % 2 else b"WATCHDOG=trigger")
                    time.sleep(0.05)
                bystander.finish("waits of 15 users that end together")
        stop_and_time(daemon)


@test("waits for one server after another leave nothing behind", limit=120)
def waits_everywhere():
    def attack(daemon, servers):
        connections = [control_socket(daemon.socket) for _ in range(120)]
        for number in servers:
            call = b'{"method":"%s.Wait","parameters":{"server":"server%d","text":"never","timeoutMilliseconds":1}}\0' % (
                INTERFACE.encode(), number)
            for connection in connections:
                connection.sendall(call)
            for connection in connections:
                connection.recv(1 << 16)

    with Daemon("accept: any\n") as daemon:
        fill(daemon, 1200)
        grown = []
        for servers in range(100), range(100, 1200):
            before = daemon.resident()
            with Attacker(attack, daemon, servers) as attacker:
                attacker.wait()
            grown.append((daemon.resident() - before) / 1024)
        print(f"     120 waits for each of 1100 servers: {grown[1]:.1f} MB", flush=True)
        assert grown[1] < 1.2, f"the daemon grew by {grown[1]:.1f} MB"


@test("streams that repeatedly resume from old cursors do not delay others", limit=120)
def resuming():
    def attack(daemon, cursor):
        # The whole log follows the cursor. All of it is of interest, or only its last entry.
        calls = [b'{"method":"%s.Watch","parameters":{%s,"since":{"epoch":"%s","revision":%d}},"more":true}\0' % (
            INTERFACE.encode(), target, cursor["epoch"].encode(), cursor["revision"])
            for target in (b'"server":"busy"', b'"server":"last"', b'"all":true')]
        count = 0
        for _ in until_the_end():
            connections = [control_socket(daemon.socket) for _ in range(60)]
            for number, connection in enumerate(connections):
                send_what_fits(connection, calls[number % 3])
            for connection in connections:
                connection.settimeout(10)
                assert connection.recv(1 << 16), "no answer"
                connection.close()
                count += 1
        print(f"     {count} streams were begun", flush=True)

    with Daemon("accept: any\n") as daemon, contextlib.ExitStack() as stack:
        connection = stack.enter_context(daemon.connect())
        for server in ("last", "busy"):
            connection.call("Post", {"server": server, "text": "0"})
        # For a reader that has fallen behind, the daemon keeps four times as many entries.
        slow = stack.enter_context(control_socket(daemon.socket))
        slow.sendall(WATCH)
        slow.recv(1)
        with daemon.connect() as other:
            cursor = next(other.watch())["cursor"]
        for number in range(16_000):
            connection.call("Post", {"server": "busy", "text": f"{number}"})
        connection.call("Post", {"server": "last", "text": "1"})
        bystander = stack.enter_context(Bystander(daemon))
        attacker = stack.enter_context(Attacker(attack, daemon, cursor))
        attacker.wait()
        bystander.finish("streams that begin behind old cursors")
        stop_and_time(daemon)


def fill_up(path):
    """Opens connections until many are refused, and reopens them when they are closed; returns the open ones."""
    kept = [control_socket(path) for _ in range(300)]
    for _ in range(10):
        kept += [control_socket(path) for _ in range(20)]
    return kept


@test("users who take all connections that they can get lock out neither root nor connected clients", limit=120)
def crowds():
    need_root()
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))}
    with Daemon("limits: { servers: 1000 }\naccept: any\n", **limits) as daemon, contextlib.ExitStack() as stack:
        with daemon.connect() as connection:
            for number in range(1000):  # most of them without a notify socket, because the descriptors do not suffice
                connection.call("Post", {"server": f"server{number}", "text": "here"})
        os.seteuid(USER)
        connected = stack.enter_context(daemon.connect())
        os.seteuid(0)
        bystander = stack.enter_context(Bystander(daemon, user=0))
        crowd = [stack.enter_context(Attacker(fill_up, daemon.socket, user=50_000 + number)) for number in range(20)]
        for attacker in crowd:
            attacker.wait()
        connected.call("Describe", {"server": "server7"})
        bystander.finish("users who take all connections")
        lines = daemon.log().count("refused a connection")
        assert 0 < lines < 100, f"{lines} lines in the log"
        stop_and_time(daemon)


@test("a user who creates and removes files in a watched directory delays nobody")
def flood_of_files():
    for kind, suffix in {"short names": "", "names of unsorted marks": MARKS, "names that are not UTF-8": "\udcff" * 200}.items():
        create_and_remove_files(kind, suffix)


def create_and_remove_files(kind, suffix):
    """Floods a watched directory with names that end like this."""
    def servers(folder):
        return ("servers:\n  db: { push: true }\n"
                + "".join(f"  file{number}: {{ file: {folder}/open/{number} }}\n" for number in range(100))
                + "".join(f"  pattern{number}: {{ file: '{folder}/open/*{number}' }}\n" for number in range(100)))

    def act(daemon):
        folder = daemon.folder / "open"
        for turn in until_the_end():
            for number in range(1000):
                path = f"{folder}/{number % 120}{suffix}"
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
                os.unlink(path)

    with Daemon(servers, start=False) as daemon:
        (daemon.folder / "open").mkdir()
        (daemon.folder / "open").chmod(0o1777)
        daemon.folder.chmod(0o755)
        daemon.start()
        with Bystander(daemon) as bystander, Attacker(act, daemon) as attacker:
            attacker.wait()
            bystander.finish(f"files that come and go, with {kind}")
            stop_and_time(daemon)


@test("a history that is read again and again takes no more memory", limit=120)
def history_again():
    with Daemon("accept: any\n") as daemon:
        fill(daemon, 2000)
        with daemon.connect() as connection:
            def read(times):
                for _ in range(times):
                    assert sum(1 for _ in connection.more("History", {"all": True})) > 2000
                return daemon.resident() / 1024

            before = read(5)
            grown = read(20) - before
        print(f"     {grown:.1f} MB", flush=True)
        assert grown < 8, f"the daemon grew by {grown:.0f} MB"


@test("users who read the history all the time do not make the log of the state grow")
def reading_history():
    def read(daemon):
        while True:
            daemon.history(all=True)

    with Daemon("accept: any\n") as daemon:
        with daemon.connect() as connection:
            for number in range(4000):
                connection.call("Post", {"server": f"server{number % 10}", "text": f"Step {number} " + "x" * 100})
        log = daemon.folder / "state" / "statusd.sqlite-wal"
        longest, end = 0, time.monotonic() + 10
        with contextlib.ExitStack() as readers, daemon.connect() as connection:
            for _ in range(3):
                readers.enter_context(Attacker(read, daemon))
            number = 0
            while time.monotonic() < end:
                connection.call("Post", {"server": f"server{number % 2000}", "text": f"Now {number} " + "y" * 1000})
                number += 1
                longest = max(longest, log.stat().st_size)
        print(f"     {number} posts; the log was {longest >> 10} KiB long")
        assert longest < 18 << 20, f"the log has grown to {longest} bytes"
