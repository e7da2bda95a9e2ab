# SPDX-License-Identifier: Apache-2.0
"""statusctl history: past changes and their totals, as administrators and scripts read them."""

import contextlib
import datetime
import errno
import fcntl
import json
import os
import pty
import pwd
import re
import socket
import sqlite3
import struct
import subprocess
import tempfile
import termios
import threading
import time

from harness.attacker import need_root
from harness.daemon import NOBODY, STATUSCTL, Daemon, environment, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.faulty_store import faulty_daemon
from harness.runner import test

CONFIGURATION = "accept: any\nservers: { db: { push: true }, web: { push: true } }\n"
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
ME = pwd.getpwuid(os.getuid()).pw_name


@contextlib.contextmanager
def daemon_with_history():
    """A daemon with a few changes of two servers, one of which is selected."""
    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        daemon.done("post", "web", "HTTP 200", "--level", "warning")
        daemon.done("post", "db", "Signed Out", "--level", "critical")
        yield daemon


def changes(daemon, *arguments):
    """The entries of `history --selections --json`."""
    return [json.loads(line) for line in daemon.done("history", *arguments, "--selections", "--json").splitlines()]


def texts(daemon, *arguments):
    """The texts of the entries that have one because a status changed."""
    return [change["text"] for change in changes(daemon, *arguments) if change["kind"] == "changed"]


def on_terminal(daemon, columns, *arguments):
    """The output of statusctl on a terminal of this width in columns, and its exit status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = subprocess.Popen([STATUSCTL, *arguments], stdin=slave, stdout=slave, stderr=slave,
                               env=environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", TERM="xterm"))
    os.close(slave)
    output = b""
    with contextlib.suppress(OSError):  # the other side of a terminal that is closed
        while data := os.read(master, 1 << 16):
            output += data
    os.close(master)
    return output.decode().replace("\r\n", "\n"), command.wait()


@test("history shows the changes of one server in order: when, for how long, level, text and the user who caused it")
def text():
    with daemon_with_history() as daemon:
        lines = daemon.done("history", "db", "--selections").splitlines()
        equal(len(lines), 4, lines)
        assert re.fullmatch(rf"{TIME} +-- added db", lines[0]), lines
        assert re.fullmatch(rf"{TIME} +\d+m?s  ok        \"Signed In\"  by {ME}", lines[1]), lines
        assert re.fullmatch(rf"{TIME} +-- selected db  by {ME}", lines[2]), lines
        assert re.fullmatch(rf"{TIME} +\d+m?s\+  critical  \"Signed Out\"  by {ME}", lines[3]), lines


@test("selections are shown only with --selections, and do not count among the newest lines otherwise")
def selections():
    with daemon_with_history() as daemon:
        shown = daemon.done("history", "db").splitlines()
        equal([line for line in shown if "selected" in line], [])
        for _ in range(3):
            daemon.done("select", "web")
            daemon.done("select", "db")
        equal(len(daemon.done("history", "db", "-n", "2").splitlines()), 2)
        equal(len(daemon.done("history", "db", "web", "-n", "2").splitlines()), 2)
        assert "selected" not in daemon.done("history", "db", "--json", "-n", "2")
        equal(daemon.done("history", "db", "--selections", "-n", "3").count("-- selected db"), 3)
        refused = daemon.ctl("history", "--summary", "--selections")
        equal(refused.status, 64)
        contains(refused.err, "give --summary or --selections, not both")


@test("history without a name shows the selected server and names it")
def selected():
    with daemon_with_history() as daemon:
        contains(daemon.done("history"), "ok        db: \"Signed In\"", "critical  db: \"Signed Out\"")
        assert "web" not in daemon.done("history")


@test("history of several names merges their changes by time, and --all has every server and the daemon")
def several():
    with daemon_with_history() as daemon:
        equal(texts(daemon, "db", "web", "db"), ["Signed In", "HTTP 200", "Signed Out"])
        contains(daemon.done("history", "web", "db"), 'db: "Signed In"', 'web: "HTTP 200"')
        daemon.done("post", "guest", "hello")
        daemon.done("forget", "guest")
        daemon.done("select", "--none")
        daemon.stop()
        daemon.start()
        assert "selected" not in daemon.done("history", "--all")
        everything = daemon.done("history", "--all", "--selections")
        contains(everything, "-- statusd started", "-- added guest", 'guest: "hello"', "-- removed guest", "-- no server selected",
                 "-- statusd stopped")
        equal(everything.count("-- statusd started"), 2)
        equal(texts(daemon, "guest"), ["hello"], "the history of a removed server")


@test("a server that is renamed keeps its history and its selection, with was: its former name, over a reload and over a restart")
def renamed():
    with Daemon("servers: { db: { push: true }, web: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        for new, old, restarts in (("database", "db", False), ("primary", "database", True)):
            daemon.file.write_text(f"servers: {{ {new}: {{ push: true, was: {old} }}, web: {{ push: true }} }}\n")
            if restarts:
                daemon.stop()
                daemon.start()
            else:
                equal(json.loads(daemon.done("reload", "--dry-run", "--json"))["selected"], new)
                daemon.done("reload")
            equal(daemon.describe()["name"], new)
            daemon.done("post", new, f"now {new}", "--level", "warning")
            wanted = ["Signed In", "now database", f"now {new}"] if restarts else ["Signed In", "now database"]
            eventually(lambda w=wanted, n=new: texts(daemon, n) == w, "the history")
            contains(one_sentence(daemon.ctl("history", old), 4), f"no server named “{old}”")
        daemon.file.write_text("servers: { one: { push: true, was: gone }, two: { push: true, was: gone } }\n")
        contains(daemon.ctl("verify", daemon.file).err, "server two: “was: gone” has no effect, because one has the same")
        daemon.file.write_text("servers: { primary: { push: true, was: web }, web: { push: true, was: web } }\n")
        result = daemon.ctl("verify", daemon.file)
        contains(result.out + result.err, "“was: web” has no effect, because", "still configures web", "“was” must be the server's name before it was renamed")


@test("history keeps everything over a restart, and a state continues")
def restart():
    with daemon_with_history() as daemon:
        before = daemon.done("history", "db", "--json")
        daemon.stop()
        daemon.start()
        equal(daemon.done("history", "db", "--json"), before)


@test("--json writes the entries as the interface has them")
def as_json():
    with daemon_with_history() as daemon:
        last = changes(daemon, "db")[-1]
        equal((last["kind"], last["server"], last["text"], last["level"], last["user"], "lasted" in last),
              ("changed", "db", "Signed Out", "critical", os.getuid(), False))
        equal(changes(daemon, "db"), daemon.history(server="db"))


@test("-n shows only the newest changes, of all servers together")
def newest():
    with daemon_with_history() as daemon:
        for number in range(5):
            daemon.done("post", "web" if number % 2 else "db", f"n {number}", "--level", "ok" if number % 4 < 2 else "warning")
        for option in (["-n", "3"], ["-n3"], ["--lines", "3"], ["--lines=3"]):
            equal(texts(daemon, "db", "web", *option), ["n 2", "n 3", "n 4"], f"{option}")
        equal(texts(daemon, "db", "-n1"), ["n 4"])
        equal(len(changes(daemon, "db", "-n", "1000")), 7)


@test("--level shows only this level and worse ones")
def level():
    with daemon_with_history() as daemon:
        equal(texts(daemon, "--all", "--level", "warning"), ["HTTP 200", "Signed Out"])
        equal(texts(daemon, "db", "web", "--level=critical"), ["Signed Out"])
        equal(len(changes(daemon, "db", "--level", "ok")), 2, "entries without a level are left out")


@test("--since and --until are inclusive, in all forms of a time")
def period():
    with daemon_with_history() as daemon:
        first, last = (change["at"] for change in changes(daemon, "db") if change["kind"] == "changed")
        equal(texts(daemon, "db", "--since", first), ["Signed In", "Signed Out"])
        equal(texts(daemon, "db", "--since", last), ["Signed Out"])
        equal(texts(daemon, "db", "--since", first, "--until", first), ["Signed In"])
        equal(texts(daemon, "db", "--since", "-1h", "--until", "now"), ["Signed In", "Signed Out"])
        equal(texts(daemon, "db", "--since", "yesterday", "--until", "tomorrow"), ["Signed In", "Signed Out"])
        equal(texts(daemon, "db", "--until", "1h ago"), [])
        epoch = datetime.datetime.fromisoformat(last.replace("Z", "+00:00")).timestamp()
        equal(texts(daemon, "db", "--since", f"@{epoch:.3f}"), ["Signed Out"])


@test("a time without a zone is local")
def local():
    with daemon_with_history() as daemon:
        begin = time.strftime("%Y-%m-%d %H:%M", time.gmtime(time.time() - 60))
        zone = environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", TZ="XYZ-5")
        equal(len(daemon.ctl("history", "db", "--since", f"{begin} UTC", env=zone).out.splitlines()), 3)
        there = time.strftime("%Y-%m-%d %H:%M", time.gmtime(time.time() - 60 + 5 * 3600))
        shown = daemon.ctl("history", "db", "--since", there, env=zone).out
        equal(len(shown.splitlines()), 3)
        # The entries are from now, which may be an hour after the minute before.
        now = time.strftime("%Y-%m-%d %H:%M", time.gmtime(time.time() + 5 * 3600))
        assert there[:13] in shown or now[:13] in shown, shown


@test("an empty history is a note with the requested period and servers, and no failure")
def empty():
    with daemon_with_history() as daemon:
        result = daemon.ctl("history", "db", "--since", "tomorrow")
        contains(one_sentence(result, 0), "statusctl: no changes of db since ")
        equal(result.out, "")
        contains(one_sentence(daemon.ctl("history", "db", "web", "--level", "critical", "--until", "1970-01-02"), 0),
                 "no changes of db or web with level critical until 1970-01-02 00:00:00")
        result = daemon.ctl("history", "db", "--since", "tomorrow", "--json")
        equal((result.out, result.err, result.status), ("", "", 0))


@test("--summary shows the time in each level, the availability and a timeline with its legend")
def summary():
    with daemon_with_history() as daemon:
        equal(len(daemon.done("history", "db", "--summary").splitlines()), 8)
        lines = daemon.done("history", "db", "web", "--summary").splitlines()
        assert re.fullmatch(r"db: \d+(\.\d+)? % available, 2 changes", lines[0]), lines
        rows = lines[1:lines.index("")]
        for row, form in zip(rows, (r"  ok +\d+m?s +\d+(\.\d+) %", r"  critical +\d+m?s +\d+(\.\d+) %", r"  no status +\d+ms +\d+(\.\d+) %",
                                    r"  [ ▁█]{60}", rf"  {TIME} {{22}}{TIME}",
                                    rf"  The history begins at {TIME}; before, nothing is known\.")):
            assert re.fullmatch(form, row), (row, form)
        equal(lines[len(rows) + 2], "web: 100 % available, 1 change")
        equal(lines[-1], "  ▁ ok  ▄ warning  ▒ unknown  █ critical  blank: no status")
        ascii_only = environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", LC_ALL="C")
        contains(daemon.ctl("history", "db", "--summary", env=ascii_only).out, "#\n", "  . ok  ! warning  ? unknown  # critical")
        equal(daemon.done("history", "--all", "--summary").count("available"), 2)
        unknown = daemon.ctl("history", "db", "nope", "--summary")
        equal((unknown.status, unknown.out.splitlines()[-1]), (4, lines[-1]))


@test("--summary --json is the reply of the interface, one line for each server")
def summary_as_json():
    with daemon_with_history() as daemon:
        replies = [json.loads(line) for line in daemon.done("history", "db", "web", "--summary", "--json", "--buckets", "4").splitlines()]
        equal([(reply["server"], len(reply["buckets"])) for reply in replies], [("db", 4), ("web", 4)])
        equal(replies[0]["buckets"][-1]["worst"], "critical")
        last = json.loads(daemon.done("history", "db", "--summary", "--json", "--since", "-1h", "--until", "tomorrow"))
        equal(len(last["buckets"]), 60)
        assert last["until"] < datetime.datetime.now(datetime.timezone.utc).isoformat(), last["until"]


@test("--graph draws what a check measured, --json has the numbers, and a mistyped value is named with the known ones")
def graph():
    with Daemon("servers: { memory: { memory: true }, db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")

        def kept():
            reply = json.loads(daemon.done("history", "memory", "--graph", "--json", "--since", "-1h"))
            return reply if reply.get("measured") else None

        reply = eventually(kept, "what was measured is kept")
        equal((reply["measured"]["name"], reply["measured"]["unit"], len(reply["buckets"])), ("used", "%", 100))
        equal(len([bucket for bucket in reply["buckets"] if "value" in bucket]), 1)
        contains(daemon.done("history", "memory", "--graph", "--value", "available"), "  available: ", " ┤", "└─")
        contains(daemon.done("history", "db", "--graph"), "No numbers were measured in this time.")
        contains(one_sentence(daemon.ctl("history", "memory", "--graph", "--value", "usd"), 1),
                 "no value “usd” of memory in the history; it has used, ")
        for columns in (40, 120):
            out, status = on_terminal(daemon, columns, "history", "memory", "--graph")
            equal((status, "\x1b[32m" in out), (0, True))
            plain = [re.sub(r"\x1b\[\d*m", "", line) for line in out.splitlines()]
            equal(max(len(line) for line in plain if "┤" in line or "level" in line), columns)
        daemon.stop()
        daemon.start()
        assert kept(), "what was measured before a restart"


@test("on a terminal, no line is wider than it, and nothing is cut in a pipe")
def terminal():
    with daemon_with_history() as daemon:
        daemon.done("post", "db", "x" * 500, "--level", "warning")
        contains(daemon.done("history", "db"), "x" * 500 + f"\"  by {ME}")
        for columns in (80, 200):
            for arguments in (["--all"], ["--all", "--summary"]):
                out, status = on_terminal(daemon, columns, "history", *arguments)
                equal(status, 0)
                contains(out, "\x1b[33m")
                plain = [re.sub(r"\x1b\[\d*m", "", line) for line in out.splitlines()]
                equal([line for line in plain if len(line) > columns], [], f"on {columns} columns")
        contains(on_terminal(daemon, 80, "history", "db")[0], f"x…\"  by {ME}\n")


@test("errors of history name the cause")
def errors():
    with daemon_with_history() as daemon:
        contains(one_sentence(daemon.ctl("history", "bd"), 4), "no server named “bd”; did you mean “db”?")
        contains(one_sentence(daemon.ctl("history", "db", "a/b"), 4), "no server named “a/b”")
        contains(one_sentence(daemon.ctl("history", "bd", "--summary"), 4), "no server named “bd”; did you mean “db”?")
        equal(json.loads(daemon.ctl("history", "bd", "--json").out)["error"], "org.statusd.monitor.NoSuchServer")
        daemon.done("select", "--none")
        for arguments in ([], ["--summary"]):
            contains(one_sentence(daemon.ctl("history", *arguments), 4), "no server is selected")
        for arguments, reason in ((["db", "--all"], "give server names or --all, not both"),
                                  (["--since", "soon"], "invalid --since “soon”: must be a time such as"),
                                  (["--since", "now", "--until", "-1h"], "--since is after --until: "),
                                  (["db", "--summary", "--since", "tomorrow"], "--since is in the future: "),
                                  (["-n", "0"], "invalid --lines “0”: must be a whole number from 1"),
                                  (["--buckets", "2"], "--buckets requires --summary"),
                                  (["--summary", "--buckets", "1001"], "must be a whole number from 1 to 1000"),
                                  (["--summary", "--level", "ok"], "give --summary or --level, not both"),
                                  (["--summary", "--graph"], "give --summary or --graph, not both"),
                                  (["--graph", "-n", "1"], "give --graph or --lines, not both"),
                                  (["--value", "used"], "--value requires --graph"),
                                  (["--summary", "-n", "1"], "give --summary or --lines, not both")):
            result = daemon.ctl("history", *arguments)
            equal(result.status, 64, arguments)
            contains(result.err.splitlines()[0], reason)


@test("a daemon that keeps no state says why it has no history")
def unavailable():
    with Daemon(CONFIGURATION, start=False) as daemon:
        daemon.start(["--state", "none"])
        for arguments in ([], ["--summary"]):
            contains(one_sentence(daemon.ctl("history", "db", *arguments), 1), "cannot read the history: ", "--state none")


@test("history ends silently with 0 when its reader disconnects, as in history | head -1")
def closed_pipe():
    with Daemon(CONFIGURATION) as daemon:
        with daemon.connect() as connection:
            for number in range(300):
                connection.call("Post", {"server": f"server{number}", "text": "x" * 1000})
        script = f'"{STATUSCTL}" history --all | head -n 1; echo "${{PIPESTATUS[0]}}"'
        shell = subprocess.run(["bash", "-c", script], env=daemon.environment, capture_output=True, text=True, timeout=30)
        equal((shell.stdout.splitlines()[1:], shell.stderr), (["0"], ""))


@test("a long history is complete, however slowly it is read")
def slow_reader():
    with Daemon(CONFIGURATION) as daemon:
        with daemon.connect() as connection:
            for number in range(900):
                connection.call("Post", {"server": f"server{number}", "text": "x" * 500})
        command = subprocess.Popen([STATUSCTL, "history", "--all", "--json"], env=daemon.environment, stdout=subprocess.PIPE, text=True)
        first = command.stdout.readline()
        eventually(lambda: daemon.text("server899"), "an answer while the history is read")
        rest = command.stdout.readlines()
        equal(command.wait(), 0)
        entries = [json.loads(line) for line in [first, *rest]]
        equal([entry["server"] for entry in entries if entry.get("text")], [f"server{number}" for number in range(900)])


@test("completion knows the servers and levels of history")
def completion():
    with daemon_with_history() as daemon:
        def words(*before):
            return [line.split("\t")[0] for line in daemon.done("--complete", "--", "history", *before).splitlines()]

        equal(words(""), ["db", "web"])
        equal(words("db", "w"), ["web"])
        equal(words("-n", "3", ""), ["db", "web"])
        equal(words("--level", "c"), ["critical"])
        equal(words("--su"), ["--summary"])


@test("history says why there is none")
def unavailable():
    for configuration, arguments, reason in (("history: { changes: 0 }\naccept: any\n", (), "history: { changes: 0 }"),
                                             ("accept: any\n", ("--state", "none"), "--state none")):
        with Daemon(configuration, arguments=arguments) as daemon:
            daemon.done("post", "db", "Signed In")
            contains(one_sentence(daemon.ctl("history", "db"), 1), "cannot read the history", reason)


@test("the history warns if it lacks changes that could not be saved")
def unsaved():
    with faulty_daemon(CONFIGURATION) as (daemon, store):
        daemon.done("post", "db", "Signed In")
        equal(daemon.ctl("history", "db").err, "")
        store.fail(errno.ENOSPC, "write")
        daemon.done("post", "db", "Signed Out")
        eventually(lambda: "cannot save" in daemon.log(), "the failure")
        contains(daemon.ctl("history", "db").err, "warning: the state is not saved", "full")
        contains(daemon.ctl("history", "db", "--summary").err, "warning: the state is not saved")
        store.work()


@test("a history that is turned on begins with the present states")
def turned_on():
    with Daemon("history: { changes: 0 }\nservers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.file.write_text("servers: { db: { push: true } }\n")
        daemon.done("reload")

        def is_known():
            summary = json.loads(daemon.done("history", "db", "--summary", "--json", "--since", "-1h"))
            return sum(bucket["times"]["ok"] for bucket in summary["buckets"]) > 0

        eventually(is_known, "the level of db")


@test("a user may ask for the history of more servers than connections")
def many_names():
    need_root()
    with Daemon(CONFIGURATION) as daemon:
        names = [f"server-{number}" for number in range(150)]
        with daemon.connect() as connection:
            for name in names:
                connection.call("Post", {"server": name, "text": "hello"})
        result = run("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--", STATUSCTL, "history", "--json", *names,
                     env=environment(STATUSD_ADDRESS=f"unix:{daemon.socket}"))
        equal((result.status, result.err), (0, ""))
        changes = [json.loads(line) for line in result.out.splitlines()]
        equal([c["server"] for c in changes if c["kind"] == "changed"], names)
        equal(changes, sorted(changes, key=lambda c: c["at"]))
        newest = [json.loads(line)["server"] for line in daemon.done("history", "--json", "-n", "3", *names[:20]).splitlines()]
        equal(newest, ["server-18", "server-19", "server-19"])
        contains(one_sentence(daemon.ctl("history", *names[:20], "server-0x"), 4), "no server named “server-0x”; did you mean")


@test("a status that is the same after a restart is in no new entry of the history and the journal; another one is")
def confirmed():
    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "db", "well")
        before = texts(daemon, "db")
        for _ in range(2):
            daemon.stop()
            daemon.start()
            contains(daemon.done("status", "db"), "(before restart)")
            daemon.done("post", "db", "well")
            assert "(before restart)" not in daemon.done("status", "db")
        equal(texts(daemon, "db"), before)
        equal(daemon.log().count("db: well"), 1)
        daemon.stop()
        daemon.start()
        daemon.done("post", "db", "well", "--level", "warning")
        equal(texts(daemon, "db"), [*before, "well"])


@test("a daemon that sends changes without end does not fill statusctl's memory")
def endless():
    change = b'{"parameters":{"change":{"kind":"changed","at":"2026-01-01T00:00:00.000Z","revision":1,"server":"s1","text":"' + b"x" * 1000 + b'"}},"continues":true}\0'
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen()

        def serve():
            connection, _ = listener.accept()
            while (call := connection.recv(65536)):
                # The names are requested first.
                connection.sendall(change * (100_000 if b'.History' in call and b'"limit"' not in call else 0) + b'{"parameters":{}}\0')

        server = threading.Thread(target=serve)
        server.start()
        with open("/dev/null", "wb") as nowhere:
            process = subprocess.Popen([STATUSCTL, "history", "--address", f"unix:{folder}/socket", *(f"s{number}" for number in range(1, 18))], stdout=nowhere)
            _, status, usage = os.wait4(process.pid, 0)
        server.join()
        equal(status, 0)
        assert usage.ru_maxrss < 50_000, f"{usage.ru_maxrss} KiB"


@test("a server that was added as failed is shown with the reason, and a narrow terminal cuts every line")
def failed_addition():
    with Daemon("servers: { bad: { exec: nope } }\n") as daemon:
        contains(daemon.done("history", "bad"), "added bad: failed (", "must be a list")
        output, status = on_terminal(daemon, 30, "history", "bad")
        equal(status, 0)
        # The notice about the configuration is on standard error, and whole.
        lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in output.splitlines() if "warning: " not in line]
        assert lines and max(map(len, lines)) <= 30, output


@test("a history that is turned off while old entries are being removed is removed, too")
def off_while_pruning():
    configuration = "servers: { db: { push: true } }\n"
    with faulty_daemon(configuration) as (daemon, store):
        daemon.done("post", "db", "old")
        daemon.history(server="db")
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.folder / "state" / "statusd.sqlite")) as file, file:
            file.execute("UPDATE changes SET at = at - 7200000 WHERE kind = 'added'")
        daemon.start()
        daemon.history(server="db")
        # The step for this limit begins, and cannot end.
        store.hang("write,sync")
        for limits in ("keep: 1h", "changes: 0", "keep: 90d"):
            daemon.file.write_text(f"history: {{ {limits} }}\n{configuration}")
            daemon.done("reload")
        store.work()
        eventually(lambda: not [c for c in daemon.history(server="db") if c.get("text") == "old"], "an empty history")


@test("a history that is turned off is removed, even if it is turned on again at once")
def off_and_on():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.folder / "state" / "statusd.sqlite")) as store, store:
            store.executemany("INSERT INTO changes (server, kind, at, grade, since_boot, life, revision, source, phase, text, level, stale, omitted) "
                              "SELECT server, kind, at, grade, since_boot, life, revision, source, phase, ?, level, stale, omitted "
                              "FROM changes WHERE kind = 'changed' LIMIT 1", ((f"old {number}",) for number in range(5000)))
        daemon.start()
        on = daemon.file.read_text()
        daemon.file.write_text("history: { changes: 0 }\n" + on)
        daemon.done("reload")
        daemon.file.write_text(on)
        daemon.done("reload")
        eventually(lambda: not [c for c in daemon.history(server="db") if (c.get("text") or "").startswith("old")], "an empty history")
        daemon.done("post", "db", "new")
        equal(texts(daemon, "db")[-1:], ["new"])
        summary = json.loads(daemon.done("history", "db", "--summary", "--json", "--since", "-1h"))
        assert sum(bucket["times"]["ok"] for bucket in summary["buckets"]) > 0, summary
