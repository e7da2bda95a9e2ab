# SPDX-License-Identifier: Apache-2.0
"""statusctl watch, as scripts and status bars use it."""

import array
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time

from harness.daemon import STATUSCTL, Daemon, Follower, environment, run
from harness.expect import Skip, contains, equal, eventually, one_sentence
from harness.runner import test
from harness.tmux import Screen


@test("watch writes the current state at once, then one line for each event, into a pipe")
def line_by_line():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        with daemon.follow("watch") as lines:
            contains(lines.next(), "db", "Signed In")
            for number in range(20):
                daemon.done("post", "db", f"Step {number}")
                contains(lines.next(), "db", f"Step {number}")


@test("watch NAME follows its server regardless of the selection; watch --all shows every server")
def pinned_and_all():
    with Daemon() as daemon:
        for server in ("db", "web"):
            daemon.done("post", server, f"{server} begins")
        daemon.done("select", "web")
        with daemon.follow("watch", "db") as pinned, daemon.follow("watch", "--all") as everything:
            contains(pinned.next(), "db begins")
            everything.until("web begins")
            for server in ("web", "db"):
                daemon.done("post", server, f"{server} goes on")
            daemon.done("select", "db")
            daemon.done("post", "db", "the end")
            pinned.until("the end")
            everything.until("web goes on")
            everything.until("db goes on")
            everything.until("the end")
            assert not any("web" in line for line in pinned.seen), pinned.seen


@test("watch marks the first line of another server, even if it was behind when the selection moved")
def switch_while_behind():
    with Daemon() as daemon, daemon.connect() as poster:
        for server in ("db", "web"):
            daemon.done("post", server, f"{server} begins")
        daemon.done("select", "db")
        with daemon.follow("watch") as lines:
            contains(lines.next(), "db begins")
            lines.process.send_signal(signal.SIGSTOP)
            for number in range(5000):
                poster.call("Post", {"server": "db", "text": f"status {number}"})
            daemon.done("select", "web")
            lines.process.send_signal(signal.SIGCONT)
            lines.until("web begins")
            contains(lines.seen[-2], "events missed")
            contains(lines.seen[-1], "-- selected", "web: web begins")


@test("watch with nothing selected waits for a selection and then follows it")
def none_then_one():
    with Daemon() as daemon:
        with daemon.follow("watch", "--json") as lines:
            first = json.loads(lines.next())
            equal((first["kind"], first.get("server")), ("snapshot", None))
            daemon.done("post", "db", "Signed In")
            daemon.done("select", "db")
            event = json.loads(lines.next())
            equal((event["kind"], event["server"]["status"]["text"]), ("selected", "Signed In"))


@test("a command whose output is not read keeps its exit status, as in status | grep -q")
def unread_status():
    with Daemon("servers: { db: { push: true }, well: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Down", "--level", "critical")
        daemon.done("post", "well", "Up")
        for status, *arguments in ((3, "status", "db"), (3, "status", "db", "--json"), (0, "status", "well"), (0, "list"),
                                   (4, "status", "gone", "--json"), (75, "wait", "db", "--timeout", "100ms", "--json")):
            reading, writing = os.pipe()
            os.close(reading)
            result = subprocess.run([STATUSCTL, *arguments], env=daemon.environment, stdout=writing, stderr=subprocess.DEVNULL)
            os.close(writing)
            equal(result.returncode, status, " ".join(arguments))


def is_full(pipe):
    """Whether the pipe is full."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0] == fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)


@test("output to a non-blocking pipe is complete")
def slow_reader_of_output():
    with Daemon() as daemon:
        with daemon.connect() as connection:
            for number in range(200):
                connection.call("Post", {"server": f"server{number}", "text": "x" * 1000})
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        command = subprocess.Popen([STATUSCTL, "list", "--json"], env=daemon.environment, stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        eventually(lambda: is_full(reading), "a full pipe")
        with open(reading, encoding="utf-8") as output:
            equal(len(json.load(output)["servers"]), 200)
        equal((command.wait(), command.stderr.read()), (0, b""))


@test("watch ends silently with 0 when its reader disconnects, as in watch | head -1")
def closed_pipe():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        script = f'"{STATUSCTL}" watch | {{ head -n 1; echo gone; }}; echo "${{PIPESTATUS[0]}}"'
        shell = subprocess.Popen(["bash", "-c", script], env=environment(STATUSD_ADDRESS=f"unix:{daemon.socket}"),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first, gone = shell.stdout.readline(), shell.stdout.readline()
        contains(first, "Signed In")
        equal(gone, "gone\n")
        number = iter(range(1000))

        def ended():
            daemon.done("post", "db", f"unread {next(number)}")
            return shell.poll() is not None

        eventually(ended, "the end of watch")
        # Not communicate(), which skips the output that was read with the earlier lines.
        out, err = shell.stdout.read(), shell.stderr.read()
        equal((out, err), ("0\n", ""), "exit status of watch and its complaints")


@test("watch ends silently with 0 on SIGINT")
def interrupted():
    with Daemon() as daemon:
        with daemon.follow("watch") as lines:
            lines.next()
            equal(lines.end(signal.SIGINT), 0)
            equal(lines.errors, [])


@contextlib.contextmanager
def watching_over_restart(configuration, arguments=()):
    """A daemon that was restarted during a watch of one of its servers, and the output of that watch."""
    with Daemon(configuration, arguments=arguments) as daemon:
        daemon.done("post", "db", "before")
        with daemon.follow("watch", "db") as lines:
            lines.until("before")
            daemon.stop()
            eventually(lambda: len(lines.errors) == 1, "one sentence about the daemon that went away")
            daemon.start()
            yield daemon, lines


@test("watch reconnects after a restart, and says so")
def reconnects():
    with watching_over_restart("servers: { db: { push: true } }\n") as (daemon, lines):
        daemon.done("post", "db", "after")
        lines.until("after")
        eventually(lambda: len(lines.errors) == 2, "one sentence about the daemon that is back")


@test("a follower of a daemon that does not return gets advice, once")
def away_for_long():
    advice = "statusctl: the daemon is still away; see the messages of that daemon"
    with Daemon("servers: { db: { push: true } }\n") as daemon, daemon.follow("watch", "db") as lines, daemon.follow("list", "--watch") as table, \
            daemon.follow("watch", "db", "--output", "waybar") as bar:
        lines.until("db")
        table.until("db")
        bar.until("db")
        daemon.stop()
        for follower in (lines, table):
            eventually(lambda: follower.errors[1:] == [advice], "the advice")
        contains(json.loads(bar.until("still away"))["tooltip"], "see the messages of that daemon")
        daemon.start()
        for follower in (lines, table):
            eventually(lambda: follower.errors[2:] == ["statusctl: the daemon is back"], "the return")


@test("watch waits for a server that is not configured to return after a restart without a state")
def guest_after_restart():
    with watching_over_restart("accept: any\n", ["--state", "none"]) as (daemon, lines):
        return_without = ["statusctl: the daemon is back", "statusctl: it has no server “db”; waiting for it"]
        eventually(lambda: lines.errors[1:] == return_without, "one sentence about the server")
        daemon.stop()
        eventually(lambda: lines.errors[3:] == ["statusctl: the daemon disconnected; waiting for it to return"], "another one about the daemon")
        daemon.start()
        eventually(lambda: lines.errors[4:] == return_without, "another one about the server")
        daemon.done("post", "db", "after")
        lines.until("after")


@test("watch marks the first selection after a restart")
def selected_after_restart():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        with daemon.follow("watch") as lines:
            contains(lines.next(), "no server selected")
            daemon.stop()
            daemon.file.write_text("servers: { db: { push: true } }\nselect: db\n")
            daemon.start()
            lines.until("db:")
            contains(lines.seen[-1], "-- selected")


@test("wait continues over a restart, and times out if the daemon does not return")
def wait_over_restart():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        before = daemon.sockets()
        with daemon.follow("wait", "db", "--text", "after", "--timeout", "60s") as waiting, \
                daemon.follow("wait", "db", "--text", "never", "--timeout", "2s") as hopeless:
            eventually(lambda: daemon.sockets() >= before + 2, "both waits")
            daemon.stop(signal.SIGKILL)
            equal(hopeless.wait(), 75, "exit status past the time")
            contains(hopeless.errors[0], "timed out")
            daemon.start()
            daemon.done("post", "db", "after")
            equal(waiting.wait(), 0, "exit status")


@test("wait ends at its --timeout if the daemon accepts but does not answer")
def deaf_daemon():
    with Daemon(start=False) as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(daemon.socket)
        listener.listen()
        contains(one_sentence(daemon.ctl("wait", "db", "--timeout", "1s"), 75), "does not answer")


@test("wait ends at its --timeout, and not before, if the daemon accepts no connections")
def full_backlog():
    with Daemon(start=False) as daemon, socket.socket(socket.AF_UNIX) as listener, contextlib.ExitStack() as kept:
        listener.bind(daemon.socket)
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                connection = kept.enter_context(socket.socket(socket.AF_UNIX))
                connection.setblocking(False)
                connection.connect(daemon.socket)
        waiting = daemon.follow("wait", "db", "--timeout", "60s")
        contains(one_sentence(daemon.ctl("wait", "db", "--timeout", "1s"), 75), "timed out", "does not answer")
        kept.enter_context(waiting)
        time.sleep(6)  # other commands wait for room this long
        equal(waiting.process.poll(), None, "exit status before its time")


@test("without --timeout every command gives up after 45 s, except watch, which waits; and Ctrl-C ends each at once", limit=120)
def deaf_daemon_by_default():
    def start(*arguments):
        return subprocess.Popen([STATUSCTL, *arguments], env=daemon.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with Daemon(start=False) as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(daemon.socket)
        listener.listen()
        commands = [("list",), ("wait", "db"), ("refresh", "db"), ("select", "db"), ("post", "db", "x")]
        running = [start(*command) for command in commands]
        watching = start("watch")
        kept = [listener.accept()[0] for _ in range(len(commands) + 1)]
        for command, status in ("wait", -signal.SIGINT), ("watch", 0), ("status", -signal.SIGINT):
            process = start(command, "db")
            kept.append(listener.accept()[0])
            kept[-1].recv(1)  # by now it handles signals
            process.send_signal(signal.SIGINT)
            equal(process.wait(10), status, command)
        for command, process in zip(commands, running):
            _, error = process.communicate(timeout=90)
            equal((process.returncode, "no answer within 45 s" in error), (69, True), f"{command}: {error}")
            contains(error, "no answer for 5 s, still waiting; see")
            equal("it may still carry out the request" in error, command[0] in ("select", "post"), f"{command}: {error}")
        contains(watching.stderr.readline(), "no answer for 5 s, still waiting; see")
        contains(watching.stderr.readline(), "the daemon does not answer; waiting for it; see the messages of that daemon")
        watching.terminate()
        watching.communicate(timeout=10)


@test("a peer that closes each connection at once does not keep watch busy")
def closing_peer():
    with Daemon(start=False) as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(daemon.socket)
        listener.listen()
        listener.settimeout(1)
        with daemon.follow("watch", "db"):
            end, count = time.monotonic() + 1, 0
            while time.monotonic() < end:
                with contextlib.suppress(TimeoutError):
                    listener.accept()[0].close()
                    count += 1
        assert count < 10, f"{count} connections in a second"


@contextlib.contextmanager
def serving(*connections):
    """A socket with a list of answers for each connection in turn: each message gets one answer, and after the last one the connection ends."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen()

        def serve():
            for answers in connections:
                connection, _ = listener.accept()
                for answer in answers:
                    connection.recv(4096)
                    connection.sendall(answer)
                connection.close()

        server = threading.Thread(target=serve)
        server.start()
        yield f"unix:{folder}/socket"
        server.join()


@test("after a lost connection, watch --all repeats no event that a snapshot has shown")
def resumed_behind_snapshot():
    with Daemon() as daemon:
        daemon.done("post", "db", "x")
        state = daemon.describe("db")

    def event(kind, revision, text=None, **members):
        if text:
            members["server"] = {**state, "revision": revision, "status": {**state["status"], "text": text}}
        return json.dumps({"parameters": {"event": {"kind": kind, "cursor": {"epoch": "1" * 32, "revision": revision}, **members}}, "continues": True}).encode() + b"\0"

    snapshot = event("snapshot", 5, servers=[{**state, "revision": 7, "status": {**state["status"], "text": "third"}}])
    events = [event("changed", number, text) for number, text in ((6, "second"), (7, "third"), (8, "fourth"))]
    selected = event("selected", 6, "second")
    for sent, shown in ((events, ["third", "fourth"]), ([selected] + events[1:], ["third", "second", "third", "fourth"])):
        with serving([snapshot], [b"".join(sent)]) as address:
            with Follower(STATUSCTL, "watch", "--all", "--address", address) as lines:
                lines.until("fourth")
                equal([line.split("db: ")[1].removesuffix(" [ok]") for line in lines.seen], shown)


FULL = b'{"error":"org.statusd.monitor.LimitReached","parameters":{"limit":"connections","value":2}}\0'
"""The answer to a user who has too many connections."""
CURSOR = {"epoch": "1" * 32, "revision": 5}


def snapshot_of(state):
    """The first answer of a stream about a server in this state."""
    event = {"kind": "snapshot", "cursor": CURSOR, "server": state}
    return json.dumps({"parameters": {"event": event}, "continues": True}).encode() + b"\0"


@test("watch and wait continue over a restart even if other clients take the last connections")
def full_after_restart():
    with Daemon() as daemon:
        daemon.done("post", "db", "well")
        state = daemon.describe("db")
    shown = snapshot_of(state)
    with serving([shown], [FULL], [FULL], [shown]) as address, Follower(STATUSCTL, "watch", "db", "--address", address) as lines:
        lines.until("well")
        lines.until("well")
        eventually(lambda: lines.errors[:2] == ["statusctl: the daemon disconnected; waiting for it to return", "statusctl: the daemon is back"])
    waited = json.dumps({"parameters": {"server": state}}).encode() + b"\0"
    cursor = json.dumps({"parameters": {"cursor": CURSOR}}).encode() + b"\0"
    with serving([b""], [FULL], [FULL], [cursor, waited]) as address:
        equal(run(STATUSCTL, "wait", "db", "--timeout", "60s", "--address", address).status, 0)
    with serving([FULL]) as address:
        contains(one_sentence(run(STATUSCTL, "wait", "db", "--timeout", "60s", "--address", address), 1), "limit reached: 2 connections")


@test("a follower that is refused for a long time retries only a few times a second")
def refused_for_long():
    with Daemon() as daemon:
        daemon.done("post", "db", "well")
        state = daemon.describe("db")
    shown = snapshot_of(state)
    count, begin, is_over = 0, time.monotonic(), threading.Event()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen()

        def serve():
            nonlocal count
            while not is_over.is_set():
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(4096)
                    connection.sendall(FULL if count else shown)
                count += 1

        server = threading.Thread(target=serve)
        server.start()
        with Follower(STATUSCTL, "watch", "db", "--address", f"unix:{folder}/socket") as lines:
            lines.until("well")
            eventually(lambda: len(lines.errors) > 1, "the advice")
            is_over.set()
            server.join()
            contains(lines.errors[1], "the daemon is still away")
    assert 5 < count < 8 * (time.monotonic() - begin), count


@test("a peer's long errors and many notices are not shown as a whole")
def long_replies():
    reason = "\x7f" * 10_000_000
    with serving([b'{"error":"org.statusd.monitor.StartFailed","parameters":{"reason":"' + reason.encode() + b'"}}\0']) as address:
        contains(one_sentence(run(STATUSCTL, "wait", "db", "--address", address), 69), "the daemon refused the request: org.statusd.monitor.StartFailed, with 10000013 bytes")
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        state = daemon.describe("db")
    notices = ["x" * 10_000] + ["again"] * 100_000
    with serving([json.dumps({"parameters": {"server": state, "notices": notices}}).encode() + b"\0"]) as address:
        told = run(STATUSCTL, "status", "db", "--address", address)
        equal((told.status, len(told.err.splitlines())), (0, 20))
        assert len(told.err) < 6000, len(told.err)


@test("watch --no-reconnect ends with 69 and one sentence when the daemon stops")
def no_reconnect():
    with Daemon() as daemon:
        daemon.done("post", "db", "before")
        with daemon.follow("watch", "--no-reconnect", "db") as lines:
            lines.until("before")
            daemon.stop()
            equal(lines.wait(), 69, "exit status")
            equal(len(lines.errors), 1, f"lines of {lines.errors}")


@test("watch of an unknown server ends with 4")
def no_such_server():
    with Daemon() as daemon:
        contains(one_sentence(daemon.ctl("watch", "nosuch"), 4), "nosuch")


@test("a client that does not read costs no memory, gets a gap and a snapshot, and delays nobody", 120)
def slow_reader():
    with Daemon() as daemon, daemon.connect() as slow, daemon.connect() as poster:
        poster.call("Post", {"server": "db", "text": "status"})
        slow.send("Watch", {"server": "db"}, more=True)
        equal(slow.receive()["parameters"]["event"]["kind"], "snapshot")
        before = daemon.resident()
        for number in range(20_000):
            poster.call("Post", {"server": "db", "text": f"status {number} {'x' * 200}"})
        assert daemon.resident() - before < 24 * 1024, f"grew by {daemon.resident() - before} KiB"
        kinds, text = [], ""
        while not text.startswith("status 19999 "):
            event = slow.receive()["parameters"]["event"]
            kinds.append(event["kind"])
            if event.get("server"):
                text = event["server"]["status"]["text"]
        contains(kinds, "gap")
        equal(kinds[kinds.index("gap") + 1], "snapshot", "what follows a gap")


@test("list, post and wait are repeated if a stopping daemon closed the connection; forget is not, and fails")
def asked_again():
    with Daemon() as daemon:
        daemon.done("post", "db", "well")
        state = json.dumps({"parameters": {"server": daemon.describe("db")}}).encode() + b"\0"
    cursor = json.dumps({"parameters": {"cursor": {"epoch": "1" * 32, "revision": 1}}}).encode() + b"\0"
    # These act like a daemon that stops, and its successor.
    with serving([b""], [b'{"parameters":{"servers":[]}}\0'], [b""], [b'{"parameters":{"revision":1}}\0'],
                 [b""], [cursor, state], [b""]) as address:
        listed, posted, waited, forgotten = (
            run(STATUSCTL, "--address", address, *arguments)
            for arguments in (("list",), ("post", "db", "well"), ("wait", "db"), ("forget", "db")))
        equal((listed.status, posted.status, waited.status, forgotten.status), (0, 0, 0, 69))
        contains(forgotten.err, "closed the connection")


def time_zone(offset):
    """A file of tzfile(5) for a time zone that is always this many seconds ahead of UTC."""
    def block(version):
        return b"TZif" + version + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4) + struct.pack(">lBB", offset, 0, 0) + b"ABC\0"
    hours, minutes = divmod(offset // 60, 60)
    return block(b"2") + block(b"2") + f"\n<ABC>-{hours}:{minutes:02}\n".encode()


@test("a new /etc/localtime shows in commands that are running")
def other_time_zone():
    if os.getuid() != 0 or not os.path.exists("/etc/localtime"):
        raise Skip("needs root and /etc/localtime, to mount another file over it")
    with Daemon() as daemon, tempfile.NamedTemporaryFile() as zone, contextlib.ExitStack() as commands:
        def set_zone(offset, time_of_file):
            pathlib.Path(zone.name).write_bytes(time_zone(offset))
            os.utime(zone.name, (time_of_file, time_of_file))

        def here(*arguments):
            """A command with statusctl for which the file is /etc/localtime."""
            script = 'mount --bind "$0" /etc/localtime && exec "$@"'
            return "unshare", "-m", "sh", "-c", script, zone.name, STATUSCTL, *arguments

        surroundings = environment(STATUSD_ADDRESS=f"unix:{daemon.socket}")
        surroundings.pop("TZ", None)
        set_zone(0, 1_000_000_000)
        daemon.done("post", "db", "first")
        daemon.done("select", "db")
        followers = [commands.enter_context(Follower(*here(*arguments), env=surroundings)) for arguments in (
            ("watch",), ("watch", "--format", "{text} {updated}"), ("list", "--watch", "--format", "{text} {updated}"),
            ("watch", "--output", "waybar"), ("watch", "--output", "plain", "--format", "{text} {updated}"))]
        # A value that means the default, which is set so that localtime(3) needs no system call.
        followers += [commands.enter_context(Follower(*here("watch"), env=surroundings | {"TZ": zone_name}))
                      for zone_name in (":/etc/localtime", "/etc/localtime")]
        shown = commands.enter_context(Screen(*here("top"), width=80, height=24, STATUSD_ADDRESS=f"unix:{daemon.socket}"))

        def local_time(offset):
            updated = json.loads(daemon.done("status", "--json", "db"))["status"]["updatedAt"]
            moment = datetime.datetime.fromisoformat(updated.replace("Z", "+00:00")) + datetime.timedelta(seconds=offset)
            return moment.strftime("%H:%M:%S")

        def first_screen_time():
            return shown.lines()[0].split(" ")[-1][:3]

        for follower in followers:
            contains(follower.until("first"), local_time(0))
        eventually(lambda: first_screen_time() in hours(0), "the hour of UTC in top")
        set_zone(19_800, 1_000_000_001)
        daemon.done("post", "db", "second")
        for follower in followers:
            contains(follower.until("second"), local_time(19_800))
        eventually(lambda: first_screen_time() in hours(19_800), "the hour of the new time zone in top")


def hours(offset):
    """The hour that clocks show with this offset, and the one before, which a screen may still show."""
    return [time.strftime("%H:", time.gmtime(time.time() + offset - late)) for late in (0, 60)]
