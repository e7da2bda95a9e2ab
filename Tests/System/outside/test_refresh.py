# SPDX-License-Identifier: Apache-2.0
"""statusctl refresh and wait, and their methods: shared, bounded, cancellable, visible."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import termios
import time

from harness.attacker import need_root
from harness.daemon import NOBODY, STATUSCTL, Daemon, environment, readable_binaries, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test
from harness.varlink import VarlinkError

from .test_exec import once, processes, script


class Gated:
    """A daemon with a server `disk`, whose plugin notes that it began and waits until it may end."""

    def __init__(self, more=""):
        self.daemon = Daemon(start=False)
        folder = self.daemon.folder
        self.log, self.gate = folder / "runs", folder / "gate"
        self.marker = f"86404.{os.getpid()}"
        path = script(self.daemon, "check",
                      f"echo >>{self.log}\n[ -e {self.gate} ] || sleep {self.marker} &\n"
                      f"child=$!\nwhile [ ! -e {self.gate} ] && kill -0 $child 2>/dev/null; do sleep 0.02; done\n"
                      f"echo DISK OK\n")
        self.daemon.file.write_text(once(f"  disk: {{ exec: [{path}] }}\n{more}"))
        self.daemon.start()

    def runs(self):
        """How many loads have begun."""
        return self.log.stat().st_size if self.log.exists() else 0

    def open(self):
        """Lets all present and later loads end."""
        self.gate.touch()

    def close(self):
        """Makes later loads wait."""
        self.gate.unlink()

    def __enter__(self):
        self.daemon.__enter__()
        return self

    def __exit__(self, *arguments):
        self.open()
        self.daemon.__exit__(*arguments)


@test("a hundred clients that select and refresh a server at once share its first load")
def hundred_clients():
    with Gated() as gated, contextlib.ExitStack() as stack:
        eventually(lambda: gated.runs() == 1, "the first load")
        clients = [stack.enter_context(gated.daemon.connect()) for _ in range(100)]
        for client in clients:
            client.send("Select", {"server": "disk"})
            client.send("Refresh", {"server": "disk"}, more=True)
        for client in clients:
            equal(client.receive()["parameters"]["server"]["phase"], "loading")
            equal(client.receive()["parameters"]["event"]["kind"], "refreshing")
        gated.open()
        for client in clients:
            event = client.receive()["parameters"]["event"]
            equal((event["kind"], event["server"]["status"]["text"], event["server"]["refreshing"]),
                  ("refreshed", "DISK OK", False))
        equal(gated.runs(), 1, "loads")


@test("a load is cancelled, and its process killed, only when the last caller disconnects")
def last_leaves():
    with Gated() as gated, contextlib.ExitStack() as stack:
        gated.open()
        gated.daemon.done("wait", "disk", "--timeout", "15s")
        gated.close()
        clients = [stack.enter_context(gated.daemon.connect()) for _ in range(100)]
        for client in clients:
            client.send("Refresh", {"server": "disk"})
        eventually(lambda: gated.runs() == 2 and processes(gated.marker) == 1, "one load for all")
        # A client that connects now is answered after all of them have been heard.
        for _ in range(2):
            gated.daemon.describe("disk")
        for client in clients[:-1]:
            client.socket.close()
        # A round trip after they have disconnected.
        equal(gated.daemon.describe("disk")["refreshing"], True)
        equal(processes(gated.marker), 1, "processes with one client left")
        clients[-1].socket.close()
        eventually(lambda: processes(gated.marker) == 0, "no process")
        eventually(lambda: not gated.daemon.describe("disk")["refreshing"])
        equal((gated.daemon.describe("disk")["phase"], gated.daemon.text("disk")), ("loaded", "DISK OK"))
        gated.open()
        contains(gated.daemon.done("refresh", "disk"), "disk: DISK OK [ok]")
        equal(gated.runs(), 3, "loads")


@test("selecting, selecting again, reloading and losing clients loads nothing again")
def loads_once():
    with Gated("  other: { push: true }\n") as gated:
        gated.open()
        gated.daemon.done("wait", "disk", "--timeout", "15s")
        for _ in range(5):
            gated.daemon.done("select", "disk")
            gated.daemon.done("select", "other")
            gated.daemon.done("reload")
            with gated.daemon.connect() as client:
                client.send("Watch", {"server": "disk"}, more=True)
                client.receive()
        equal(gated.runs(), 1, "loads")


@test("all watchers see a refresh start and end, with its result between")
def visible():
    with Gated() as gated, gated.daemon.connect() as watcher:
        gated.open()
        gated.daemon.done("wait", "disk", "--timeout", "15s")
        gated.close()
        events = watcher.watch(server="disk", updates=True)
        equal(next(events)["kind"], "snapshot")
        with gated.daemon.follow("refresh", "disk", "--json") as asker:
            equal(json.loads(asker.next())["kind"], "refreshing")
            event = next(events)
            equal((event["kind"], event["server"]["refreshing"], event["server"]["status"]["text"]),
                  ("refreshing", True, "DISK OK"))
            gated.open()
            equal([next(events)["kind"] for _ in range(2)], ["updated", "refreshed"])
            last = json.loads(asker.next())
            equal((last["kind"], last["server"]["refreshing"]), ("refreshed", False))
            equal(asker.wait(), 0)


@test("refresh: without a name, the selected server; nothing to refresh ends with 5, an unknown server with 4")
def refresh_names():
    with Gated("  backup: { notify: true }\n") as gated:
        gated.open()
        equal(gated.daemon.ctl("refresh").status, 4, "nothing selected")
        gated.daemon.done("select", "disk")
        contains(gated.daemon.done("refresh"), "disk: DISK OK [ok]")
        contains(one_sentence(gated.daemon.ctl("refresh", "backup"), 5), "cannot refresh backup: nothing loads its status; run “statusctl status backup” to see the last one")
        one_sentence(gated.daemon.ctl("refresh", "nosuch"), 4)
        equal(gated.daemon.ctl("refresh", "disk", "--all").status, 64)
        error = json.loads(gated.daemon.ctl("refresh", "backup", "--json").out)
        equal((error["error"], error["parameters"]["server"]), ("org.statusd.monitor.NotRefreshable", "backup"))


@test("refresh --all: one line for each server as it ends; a failure is reported and ends with 1")
def refresh_all():
    with Gated("  good: { exec: [/bin/echo, well] }\n  gone: { exec: [/nonexistent] }\n  backup: { push: true }\n") as gated:
        with gated.daemon.follow("refresh", "--all") as lines:
            lines.until("good: well [ok]")
            gated.open()
            lines.until("disk: DISK OK [ok]")
            equal(lines.wait(), 1)
            equal(lines.errors, ["statusctl: cannot refresh gone: cannot run /nonexistent: No such file or directory"])
    with Daemon("servers: { a: { push: true } }\n") as daemon:
        equal(daemon.ctl("refresh", "--all").status, 0)


@test("refresh --all by a user who may not refresh says that once, not for each server")
def refresh_all_refused():
    need_root()
    with Daemon("servers: { a: { exec: [/bin/true] }, b: { exec: [/bin/true] }, c: { exec: [/bin/true] } }\n") as daemon:
        readable_binaries(daemon.folder)
        refused = run(daemon.folder / "statusctl", "refresh", "--all", env=daemon.environment, user=NOBODY, group=NOBODY, extra_groups=[])
        contains(one_sentence(refused, 77), "permission denied; use sudo, or add the user to the group statusd")


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *command, columns=80, **variables):
        self.process, self._file = pty.fork()
        if self.process == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(command[0], command, environment(**variables))
        self.output = b""

    def read(self, until, seconds=15):
        """Reads until the output contains `until`, or to its end if that is None."""
        end = time.monotonic() + seconds
        while until is None or until not in self.output:
            ready, _, _ = select.select([self._file], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {until!r} in {self.output!r}"
            try:
                data = os.read(self._file, 4096)
            except OSError:  # the other side is closed
                data = b""
            if not data:
                assert until is None, f"no {until!r} in {self.output!r}"
                break
            self.output += data
        return self.output

    def type(self, data):
        """Types on the terminal."""
        os.write(self._file, data)

    def wait(self):
        """Reads to the end and returns the exit status."""
        self.read(None)
        os.close(self._file)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@test("a terminal shows an indicator while a refresh runs, then only the status; Ctrl-C cancels the load")
def indicator():
    with Gated() as gated:
        address = {"STATUSD_ADDRESS": f"unix:{gated.daemon.socket}", "LANG": "C.UTF-8", "TERM": "xterm"}
        terminal = Terminal(STATUSCTL, "refresh", "disk", **address)
        terminal.read("⠋ Refreshing disk 0.".encode())
        gated.open()
        equal(terminal.wait(), 0)
        contains(terminal.output.decode().rsplit("\r\x1b[K", 1)[1], "disk: DISK OK")
        gated.close()
        terminal = Terminal(STATUSCTL, "refresh", "disk", **{**address, "LC_ALL": "C"})
        terminal.read(b"Refreshing disk")
        equal(processes(gated.marker), 1, "processes while it runs")
        terminal.type(b"\x03")
        equal(terminal.wait(), 130)
        assert terminal.output.endswith(b"\r\x1b[K") and b"\xe2" not in terminal.output, terminal.output
        eventually(lambda: processes(gated.marker) == 0, "no process after Ctrl-C")


@test("lines of refresh --all stand on lines of their own, and the indicator fits the terminal's line")
def indicator_and_lines():
    name = "n" * 63
    with Gated(f"  {name}: {{ exec: [/bin/sleep, '1.5'] }}\n  quick: {{ exec: [/bin/sleep, '0.8'] }}\n") as gated:
        address = {"STATUSD_ADDRESS": f"unix:{gated.daemon.socket}", "LANG": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1"}
        terminal = Terminal(STATUSCTL, "refresh", "--all", **address)
        terminal.read(b"quick: no output [ok]")
        terminal.read("1 of 3 checked".encode())
        gated.open()
        equal(terminal.wait(), 0)
        written = terminal.output.decode()
        for found in re.finditer(r"[0-9:]{8} (?:disk|quick|nnn)", written):
            equal(written[:found.start()][-4:], "\r\x1b[K", f"what stands before {found[0]}")
        gated.close()
        terminal = Terminal(STATUSCTL, "refresh", name, columns=40, **address)
        equal(terminal.wait(), 0)
        drawn = [line for line in terminal.output.decode().split("\r\x1b[K") if "Refreshing" in line]
        assert drawn and max(map(len, drawn)) < 40, drawn


@test("a quick refresh, JSON output, or output outside of a terminal shows no indicator")
def no_indicator():
    with Gated() as gated:
        gated.open()
        gated.daemon.done("wait", "disk", "--timeout", "15s")
        gated.close()
        for arguments in (("refresh", "disk"), ("refresh", "disk", "--json")):
            runs = gated.runs()
            with gated.daemon.follow(*arguments) as lines:
                eventually(lambda runs=runs: gated.runs() == runs + 1)
                time.sleep(0.7)  # longer than an indicator would need
                gated.open()
                equal(lines.wait(), 0)
                equal(lines.errors, [])
            gated.close()
    with Daemon(once("  quick: { exec: [/bin/echo, well] }\n")) as daemon:
        terminal = Terminal(STATUSCTL, "refresh", "quick", STATUSD_ADDRESS=f"unix:{daemon.socket}", TERM="dumb")
        equal(terminal.wait(), 0)
        assert b"Refreshing" not in terminal.output, terminal.output


@test("history shows how many lines it has read while the daemon is slow, and nothing of that remains, or comes before a pager")
def history_progress():
    with Daemon("accept: any\n") as daemon:
        daemon.done("post", "db", "Signed In")
        address = {"STATUSD_ADDRESS": f"unix:{daemon.socket}", "LANG": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1"}
        for option, shown in ("", "Reading the history: 0 lines"), ("--summary", "Reading the history of db"):
            os.kill(daemon.process.pid, signal.SIGSTOP)
            try:
                terminal = Terminal(STATUSCTL, "history", "db", *option.split(), **address)
                piped = Terminal("/bin/sh", "-c", f"{STATUSCTL} history db {option} | cat", **address)
                terminal.read(f"⠋ {shown} 0.".encode())
                # Now the other one, which began at the same time, would have shown it, too.
                terminal.read(f" {shown} 1.".encode())
            finally:
                os.kill(daemon.process.pid, signal.SIGCONT)
            equal((terminal.wait(), piped.wait()), (0, 0))
            after = terminal.output.decode().rsplit("\r\x1b[K", 1)[1]
            contains(after, "db")
            assert b"Reading" not in piped.output and "Reading" not in after, (after, piped.output)


@test("init shows what it is looking at while a service with TLS does not answer")
def init_progress():
    need_root()
    with socket.create_server(("127.0.0.1", 8883)):
        terminal = Terminal(STATUSCTL, "init", "--print", LANG="C.UTF-8", TERM="xterm")
        terminal.read(b"Looking at the certificates of services with TLS 0.")
        equal(terminal.wait(), 0)
        shown, printed = terminal.output.decode().rsplit("\r\x1b[K", 1)
        assert "Looking at" in shown and "Looking at" not in printed and "servers:" in printed, printed


@test("a reload during a refresh: a new source is loaded instead; waiting for a removed server fails")
def reload_in_the_middle():
    with Gated() as gated:
        eventually(lambda: processes(gated.marker) == 1, "the first load")
        with gated.daemon.follow("refresh", "disk") as asker:
            eventually(lambda: gated.daemon.describe("disk")["refreshing"])
            gated.daemon.file.write_text(once("  disk: { exec: [/bin/echo, another disk] }\n"))
            gated.daemon.done("reload")
            contains(asker.next(), "disk: another disk [ok]")
            equal(asker.wait(), 0)
        equal(processes(gated.marker), 0, "processes of the old source")
        gated.daemon.file.write_text(once(f"  disk: {{ exec: [/bin/sleep, '{gated.marker}'] }}\n"))
        gated.daemon.done("reload")
        with gated.daemon.follow("refresh", "disk") as asker:
            eventually(lambda: gated.daemon.describe("disk")["refreshing"])
            gated.daemon.file.write_text(once("  other: { push: true }\n"))
            gated.daemon.done("reload")
            equal(asker.wait(), 4)
        eventually(lambda: processes(gated.marker) == 0, "no process")
        gated.daemon.file.write_text(once(f"  disk: {{ exec: [/bin/sleep, '{gated.marker}'] }}\n"))
        gated.daemon.done("reload")
        with gated.daemon.follow("refresh", "disk") as asker:
            eventually(lambda: gated.daemon.describe("disk")["refreshing"])
            gated.daemon.file.write_text(once("  disk: { push: true }\n"))
            gated.daemon.done("reload")
            equal(asker.wait(), 5)


@test("a replaced check's status does not count for its successor")
def new_check():
    with Daemon(once("  disk: { exec: [/bin/echo, well] }\n")) as daemon:
        daemon.done("wait", "disk", "--timeout", "15s")
        daemon.file.write_text(once("  disk: { exec: [/bin/sleep, '86406'], timeout: 1h, failures: 3 }\n"))
        daemon.done("reload")
        equal(daemon.ctl("wait", "disk", "--timeout", "50ms").status, 75)
        equal(daemon.ctl("status", "disk").status, 3)
        equal((daemon.describe("disk")["phase"], daemon.text("disk")), ("loading", None))
        daemon.file.write_text(once("  disk: { exec: [/bin/sh, -c, 'echo bad; exit 2'], failures: 3 }\n"))
        daemon.done("reload")
        daemon.done("wait", "disk", "--level", "critical", "--timeout", "15s")


@test("a source that could not start is retried with each reload; until then its server refuses posts")
def started_later():
    with Daemon(start=False) as daemon:
        daemon.file.write_text("servers: { web: { notify: true } }\n")
        obstacle = daemon.runtime / "notify" / "web"
        obstacle.parent.mkdir(mode=0o755)
        obstacle.write_text("in the way")
        daemon.start()
        contains(daemon.describe("web")["message"], "is not a socket; remove it")
        contains(one_sentence(daemon.ctl("post", "web", "fine"), 1), "cannot post the status: web cannot be followed: ", "is not a socket; remove it")
        equal(json.loads(daemon.done("reload", "--json"))["changed"], [])
        obstacle.unlink()
        equal(json.loads(daemon.done("reload", "--json"))["changed"], ["web"])
        daemon.done("post", "web", "fine")
        equal(daemon.text("web"), "fine")


@test("a client that gets SIGTERM or SIGKILL counts as disconnected")
def killed_client():
    with Gated() as gated:
        gated.open()
        gated.daemon.done("wait", "disk", "--timeout", "15s")
        for number in (signal.SIGTERM, signal.SIGKILL):
            gated.close()
            with gated.daemon.follow("refresh", "disk") as asker:
                eventually(lambda: processes(gated.marker) == 1)
                asker.end(number)
            eventually(lambda: processes(gated.marker) == 0, "no process")
            gated.open()


@test("wait: returns when the server has the requested level or text, ok by default")
def wait():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("wait", "db")
        with daemon.follow("wait", "db", "--text", "Signed Out") as text, daemon.follow("wait", "db", "--level", "critical") as level:
            for follower in (text, level):
                assert follower.process.poll() is None
            daemon.done("post", "db", "Failing", "--level", "critical")
            equal(level.wait(), 0)
            assert text.process.poll() is None
            daemon.done("post", "db", "Signed Out")
            equal(text.wait(), 0)
        state = json.loads(daemon.done("wait", "db", "--json"))
        equal((state["name"], state["status"]["text"]), ("db", "Signed Out"))


@test("wait: no state is missed, however short it lasts")
def wait_short():
    with Daemon() as daemon, daemon.connect() as waiter, daemon.connect() as poster:
        daemon.done("post", "db", "first")
        for number in range(200):
            # Both are in one write: when the first is answered, the second has been read.
            waiter.socket.sendall(b"".join(
                json.dumps({"method": f"org.statusd.monitor.{method}", "parameters": parameters}).encode() + b"\0"
                for method, parameters in (("Describe", {"server": "db"}), ("Wait", {"server": "db", "text": f"moment {number}"}))))
            waiter.receive()
            for text in ("before", f"moment {number}", "after"):
                poster.send("Post", {"server": "db", "text": text})
            for _ in range(3):
                poster.receive()
            equal(waiter.receive()["parameters"]["server"]["status"]["text"], f"moment {number}")


@test("wait: returns at once if the server is ok already, even with a timeout of zero")
def wait_no_time():
    with Daemon() as daemon, daemon.connect() as connection:
        daemon.done("post", "db", "Signed In")
        for _ in range(500):
            connection.call("Wait", {"server": "db", "level": "ok", "timeoutMilliseconds": 0})


@test("wait: waits for a server that does not exist yet; a timeout ends with 75 and the server's status")
def wait_timeout():
    with Daemon() as daemon:
        with daemon.follow("wait", "late", "--timeout", "30s") as late:
            daemon.done("post", "other", "x")
            assert late.process.poll() is None
            daemon.done("post", "late", "Signed In")
            equal(late.wait(), 0)
        contains(one_sentence(daemon.ctl("wait", "never", "--timeout", "50ms"), 75), "no server named “never” yet")
        daemon.done("post", "db", "Failing", "--level", "critical")
        contains(one_sentence(daemon.ctl("wait", "db", "--timeout", "50ms"), 75), "db is “Failing” (critical)")
        error = json.loads(daemon.ctl("wait", "db", "--timeout", "50ms", "--json").out)
        equal((error["error"], error["parameters"]["server"]["name"]), ("org.statusd.monitor.WaitTimedOut", "db"))
        for arguments in (("wait",), ("wait", "a/b"), ("wait", "db", "--text", ""), ("wait", "db", "--timeout", "soon"), ("wait", "db", "--level", "fine")):
            equal(daemon.ctl(*arguments).status, 64, " ".join(arguments))


@test("wait with more is answered once, like Wait without; Refresh without more once, at the end")
def with_and_without_more():
    with Gated() as gated, gated.daemon.connect() as connection:
        gated.open()
        for flags in ({}, {"more": True}):
            connection.send("Wait", {"server": "disk", "level": "ok", "timeoutMilliseconds": 15000}, **flags)
            reply = connection.receive()
            equal((reply["parameters"]["server"]["name"], reply.get("continues", False)), ("disk", False))
        connection.send("Refresh", {"server": "disk"})
        reply = connection.receive()
        equal((reply["parameters"]["event"]["kind"], reply.get("continues", False)), ("refreshed", False))
        connection.send("Refresh", {"server": "disk"}, more=True)
        replies = [connection.receive(), connection.receive()]
        equal([(reply["parameters"]["event"]["kind"], reply.get("continues", False)) for reply in replies],
              [("refreshing", True), ("refreshed", False)])
        # The connection is there for the next call.
        connection.call("List")


@test("wait without level and text, or with a time below zero, is refused with the parameter's name")
def wait_parameters():
    with Daemon() as daemon, daemon.connect() as connection:
        for parameters, name in (({"server": "db"}, "level"), ({"level": "ok"}, "server"), ({"server": "a/b", "level": "ok"}, "server"),
                                 ({"server": "db", "text": " "}, "text"),
                                 ({"server": "db", "level": "ok", "timeoutMilliseconds": -1}, "timeoutMilliseconds")):
            try:
                connection.call("Wait", parameters)
                raise AssertionError(f"{parameters} was taken")
            except VarlinkError as error:
                equal((error.name, error.parameters), ("org.varlink.service.InvalidParameter", {"parameter": name}))


@test("a user who may not change anything may wait, but not refresh")
def access():
    from harness.daemon import NOBODY, readable_binaries, run
    from harness.expect import Skip

    if os.getuid() != 0:
        raise Skip("needs root, to run a command as another user")
    with Gated() as gated:
        gated.open()
        binaries = readable_binaries(gated.daemon.folder)
        variables = environment(STATUSD_ADDRESS=f"unix:{gated.daemon.socket}")
        as_nobody = {"env": variables, "user": NOBODY, "group": NOBODY, "extra_groups": []}
        equal(run(f"{binaries}/statusctl", "wait", "disk", "--timeout", "15s", **as_nobody).status, 0)
        one_sentence(run(f"{binaries}/statusctl", "refresh", "disk", **as_nobody), 77)
