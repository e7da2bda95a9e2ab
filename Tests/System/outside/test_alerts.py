# SPDX-License-Identifier: Apache-2.0
"""Alerts and silences: receivers are programs that are told of problems and their end, also after failures and kills."""

import contextlib
import itertools
import json
import pathlib
import sqlite3
import subprocess

from harness.attacker import need_root
from harness.daemon import NOBODY, STATUSCTL, Daemon, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.faulty_store import FaultyStore
from harness.runner import test

RECEIVER = """#!/bin/sh
# Notes what it gets, unless the file “fail” says how it ends.
folder=$(dirname "$0")
if [ -e "$folder/hang" ]; then sleep 600; fi
cat >>"$folder/told"
echo "$STATUSD_SERVER $STATUSD_LEVEL $STATUSD_OLD_LEVEL $STATUSD_TEXT $STATUSD_ID" >>"$folder/environment"
if [ -e "$folder/fail" ]; then cat "$folder/fail" >&2; exit 7; fi
"""


def told(folder):
    """The entries that the receiver got, in order."""
    path = folder / "told"
    return [entry for line in (path.read_text().splitlines() if path.exists() else []) for entry in json.loads(line)["alerts"]]


def texts(folder):
    """What the receiver got, in words."""
    return [f"{entry['server']} {entry['level'] if entry['kind'] != 'removed' else 'removed'}" for entry in told(folder)]


def configuration(servers, **options):
    """A configuration with one receiver, whose program is in the daemon's folder."""
    def text(folder):
        program = folder / "receiver"
        program.write_text(RECEIVER)
        program.chmod(0o755)
        settings = {"run": f"[{program}]", "batch": "0s", **options}
        return f"alerts: {{ script: {{ {', '.join(f'{key}: {value}' for key, value in settings.items())} }} }}\nservers: {{ {servers} }}\n"
    return text


@test("a receiver is told of a problem, its change and its end, on standard input and in the environment, under one id")
def problem():
    with Daemon(configuration("db: { push: true, description: Primary }")) as daemon:
        for level, text in (("warning", "slow"), ("critical", "Signed “Out”"), ("ok", "Signed In")):
            daemon.done("post", "db", text, "--level", level)
            eventually(lambda: texts(daemon.folder)[-1:] == [f"db {level}"], level)
        entries = told(daemon.folder)
        equal(texts(daemon.folder), ["db warning", "db critical", "db ok"])
        equal([(entry["kind"], entry["oldLevel"], entry["text"], entry["description"]) for entry in entries],
              [("problem", "ok", "slow", "Primary"), ("problem", "warning", "Signed “Out”", "Primary"), ("recovery", "critical", "Signed In", "Primary")])
        equal(len({entry["id"] for entry in entries}), 1)
        last = (daemon.folder / "environment").read_text().splitlines()[-1]
        equal(last, f"db ok critical Signed In {entries[0]['id']}")


@test("a receiver that fails is a warning once, in the journal, alerts, status and list; it is told what is true when it works again")
def failing():
    with Daemon(configuration("db: { push: true }")) as daemon:
        (daemon.folder / "fail").write_text("no such mailbox\n")
        daemon.done("post", "db", "down", "--level", "critical")
        shown = eventually(lambda: (out := daemon.done("alerts")) and "the next one is at" in out and out, "a failed delivery")
        contains(shown, "script: nothing delivered since statusd started", f"{daemon.folder}/receiver", "exit status 7: no such mailbox", "1 attempt in a row failed, the next one is at ", "db critical")
        for command in ("status", "db"), ("list",):
            contains(daemon.ctl(*command).err, "the receiver script has not taken its last alert; see “statusctl alerts”")
        contains(daemon.log(), "cannot tell script: exit status 7: no such mailbox; it is tried again")
        daemon.done("post", "db", "worse", "--level", "unknown")
        (daemon.folder / "fail").unlink()
        (daemon.folder / "told").unlink()
        daemon.stop()
        daemon.start()
        eventually(lambda: texts(daemon.folder) == ["db unknown"], "told after a restart")
        daemon.done("post", "db", "up")
        eventually(lambda: texts(daemon.folder) == ["db unknown", "db ok"], "the recovery")
        equal(daemon.ctl("list").err, "")


@test("nobody is told of a silenced server; when the silence ends, what still differs is told, and it is in list, status, history and the journal")
def silence():
    with Daemon(configuration("db: { push: true }, web: { push: true }")) as daemon:
        contains(daemon.done("silence", "db", "--for", "2h", "--reason", "new disks"), "silenced until ", ": db")
        daemon.done("post", "db", "down", "--level", "critical")
        daemon.done("post", "web", "down", "--level", "critical")
        eventually(lambda: texts(daemon.folder) == ["web critical"], "only web")
        contains(daemon.done("list"), "down (silenced)")
        contains(daemon.ctl("status", "db").out, "Silenced:", " by ", ": new disks")
        contains(daemon.done("alerts"), "db critical (silenced)")
        contains(daemon.done("silence", "--list"), "db: until ", ": new disks")
        daemon.stop()
        daemon.start()
        contains(daemon.done("alerts"), "db critical (silenced)")
        equal(daemon.done("unsilence", "db"), "")
        eventually(lambda: "db critical" in texts(daemon.folder), "told after the silence")
        equal(texts(daemon.folder), ["web critical", "db critical"])
        contains(daemon.log(), "db silenced until ", ": new disks", "db no longer silenced")
        contains(daemon.done("history", "db"), "-- silenced db until ", ": new disks", "-- no longer silenced db")
        contains(daemon.ctl("silence", "--list").err, "no server is silenced")


@test("silence --until-ok ends when the server is ok, and --for after its time")
def ends():
    with Daemon(configuration("db: { push: true }, web: { push: true }")) as daemon:
        daemon.done("post", "web", "fine")
        daemon.done("post", "db", "down", "--level", "critical")
        eventually(lambda: texts(daemon.folder) == ["db critical"])
        contains(daemon.ctl("silence", "web", "--until-ok").err, "web is ok now; give --for or --until")
        contains(daemon.done("silence", "db", "--until-ok"), "silenced until ok: db")
        daemon.done("post", "db", "slow", "--level", "warning")
        daemon.done("post", "db", "fine")
        eventually(lambda: texts(daemon.folder) == ["db critical", "db ok"], "the end of the problem")
        equal(daemon.ctl("silence", "--list").out, "")
        daemon.done("silence", "--all", "--for", "1s")
        daemon.done("post", "db", "down", "--level", "critical")
        eventually(lambda: texts(daemon.folder)[2:] == ["db critical"], "told after a second")


@test("each mistake of silence and alerts is answered by a sentence that says what to do")
def mistakes():
    with Daemon(configuration("db: { push: true }")) as daemon:
        for arguments, status, text in (
                (("silence",), 64, "give server names or --all"), (("silence", "db", "--all"), 64, "give server names or --all, not both"),
                (("silence", "db", "--for", "2h", "--until-ok"), 64, "give one of --for, --until and --until-ok"),
                (("silence", "db", "--for", "soon"), 64, "must be a time of up to a year"), (("silence", "db", "--until", "yesterday"), 64, "--until has passed"),
                (("silence", "db", "--reason", 300 * "x"), 1, "the reason is longer than 256 bytes"), (("silence", "nobody"), 4, "no server named “nobody”"),
                (("silence", "--list", "db"), 64, "--list takes no other options"), (("unsilence", "nobody"), 4, "no server named “nobody”"),
                (("alerts", "nobody"), 1, "no receiver named “nobody”; run “statusctl alerts” to see all"),
                (("alerts", "--test", "nobody"), 1, "no receiver named “nobody”")):
            result = daemon.ctl(*arguments)
            equal(result.status, status, str(arguments))
            contains(result.err, text)
        daemon.file.write_text("servers: { db: { push: true } }\n")
        daemon.done("reload")
        contains(daemon.ctl("alerts").err, "nobody is told of problems; add “alerts” to the configuration")


@test("a test is marked as one, and shows what the program wrote and how it ended")
def tests():
    with Daemon(configuration("db: { push: true }")) as daemon:
        contains(daemon.done("alerts", "--test", "script"), "script: delivered in ")
        equal([json.loads(line)["test"] for line in (daemon.folder / "told").read_text().splitlines()], [True])
        (daemon.folder / "fail").write_text("no such mailbox\n")
        result = daemon.ctl("alerts", "--test")
        equal(result.status, 1)
        contains(result.out, "script: failed after ", ": exit status 7\n  no such mailbox\n")
        (daemon.folder / "receiver").unlink()
        contains(daemon.ctl("alerts", "--test").out, f"cannot run {daemon.folder}/receiver: No such file or directory")


@test("while the parent is down, nobody is told of its children; then only of those that are still bad")
def parents():
    with Daemon(configuration("router: { push: true }, a: { push: true, parent: router }, b: { push: true, parent: a }")) as daemon:
        for name in "router", "a", "b":
            daemon.done("post", name, "down", "--level", "critical")
        eventually(lambda: texts(daemon.folder) == ["router critical"], "the router")
        contains(daemon.done("alerts"), "a critical (router is down)", "b critical (a is down)")
        daemon.done("post", "a", "up")
        daemon.done("post", "router", "up")
        eventually(lambda: sorted(texts(daemon.folder)) == ["b critical", "router critical", "router ok"], "the rest")
        daemon.file.write_text("servers: { a: { push: true, parent: b }, b: { push: true, parent: a }, c: { push: true, parent: nobody } }\n")
        contains(run(STATUSCTL, "verify", daemon.file).err, "parent", "circle", "nobody")


@test("while a program hangs, the daemon answers, and other receivers are told; then the program is ended and tried again")
def hanging():
    with Daemon(configuration("db: { push: true }", timeout="1s")) as daemon:
        (daemon.folder / "hang").touch()
        daemon.done("post", "db", "down", "--level", "critical")
        eventually(lambda: ": delivering" in daemon.done("alerts"), "a delivery")
        daemon.done("post", "db", "worse", "--level", "critical")
        eventually(lambda: "timed out after 1s" in daemon.done("alerts"), "the timeout")
        (daemon.folder / "hang").unlink()
        daemon.stop()
        daemon.start()
        eventually(lambda: texts(daemon.folder) == ["db critical"], "told at last")
        equal(told(daemon.folder)[0]["text"], "worse")


@test("a daemon that is killed at each system call of saves and deliveries repeats an alert at most once, with the same id, and loses none", limit=180)
def killed():
    lives = 100
    with Daemon(configuration("db: { exec: [/bin/sh, -c, 'echo seen; exit $(cat FOLDER/level)'], interval: 100ms }"), start=False) as daemon:
        daemon.file.write_text(daemon.file.read_text().replace("FOLDER", str(daemon.folder)))
        store = FaultyStore(daemon)
        (daemon.folder / "level").write_text("0")
        daemon.start()
        eventually(lambda: daemon.describe("db").get("status"))
        planned = 0
        for life in range(lives):
            level = "ok" if life % 2 else "critical"
            # Each call, before, after and in the middle of it; some lives end between calls.
            store.kill(("before", "half", "after")[life % 3], 1 + life // 3)
            (daemon.folder / "level").write_text("0" if life % 2 else "2")
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.process.wait(0.3)
                planned += 1
            store.work()
            daemon.process.kill()
            daemon.process.wait()
            daemon.start()
            eventually(lambda: texts(daemon.folder)[-1:] == [f"db {level}"], f"{life} {level}")
        entries = told(daemon.folder)
        runs = [list(group) for _, group in itertools.groupby(entries, key=lambda entry: entry["level"])]
        equal([run[0]["level"] for run in runs], ["critical", "ok"] * (lives // 2))
        for run in runs:
            assert len(run) <= 2, run
            equal(len({entry["id"] for entry in run}), 1)
        assert planned > 10, planned


@test("a receiver that writes without end is told, and what it wrote is cut; one that reads nothing is told, too")
def talkative():
    with Daemon(configuration("db: { push: true }")) as daemon:
        receiver = daemon.folder / "receiver"
        receiver.write_text(RECEIVER.replace("cat >>", "yes | head -c 5000000; cat >>", 1))
        daemon.done("post", "db", "down", "--level", "critical")
        eventually(lambda: texts(daemon.folder) == ["db critical"], "the problem")
        tested = daemon.done("alerts", "--test")
        contains(tested, "script: delivered in ")
        assert len(tested) < 40_000, len(tested)
        receiver.write_text("#!/bin/sh\nexit 0\n")
        daemon.done("post", "db", "up")
        eventually(lambda: "Due" not in daemon.done("alerts"), "the recovery")
        equal(daemon.ctl("list").err, "")


@test("the longest texts of fifty servers fit into a message, and more servers come in the next one")
def longest():
    names = [f"s{number}" for number in range(70)]
    text = 1024 * '"'
    with Daemon(configuration(", ".join(f"{name}: {{ push: true, description: '{text}' }}" for name in names), batch="1s")) as daemon:
        with daemon.connect() as connection:
            for name in names:
                connection.call("Post", {"server": name, "text": text, "level": "critical"})
        eventually(lambda: sorted(texts(daemon.folder)) == sorted(f"{name} critical" for name in names), "all are told")
        equal(len((daemon.folder / "told").read_text().splitlines()), 2)


@test("what happened while there was no receiver is told to one that is added, or comes back")
def later_receiver():
    with Daemon(configuration("db: { push: true }, web: { push: true }")) as daemon:
        whole = daemon.file.read_text()
        without = whole[whole.index("servers:"):]
        daemon.done("post", "db", "down", "--level", "critical")
        eventually(lambda: texts(daemon.folder) == ["db critical"], "the problem")
        daemon.file.write_text(without)
        daemon.done("reload")
        daemon.done("post", "db", "up")
        daemon.done("post", "web", "down", "--level", "critical")
        daemon.file.write_text(whole)
        daemon.done("reload")
        eventually(lambda: sorted(texts(daemon.folder)) == ["db critical", "db ok", "web critical"], "what happened meanwhile")


@test("the program of a receiver that was removed and is back runs only after the one before")
def overlapping():
    with Daemon(configuration("db: { push: true }")) as daemon:
        receiver = daemon.folder / "receiver"
        receiver.write_text(RECEIVER.replace("cat >>", "[ -e $folder/quick ] || sleep 2; cat >>", 1))
        whole = daemon.file.read_text()
        daemon.done("post", "db", "down", "--level", "critical")
        eventually(lambda: ": delivering" in daemon.done("alerts"), "a delivery")
        daemon.file.write_text(whole[whole.index("servers:"):])
        daemon.done("reload")
        (daemon.folder / "quick").touch()
        daemon.done("post", "db", "up")
        daemon.file.write_text(whole)
        daemon.done("reload")
        eventually(lambda: texts(daemon.folder)[-1:] == ["db ok"] and "Due" not in daemon.done("alerts"), "the recovery")
        equal(texts(daemon.folder), ["db critical", "db ok"])


@test("a receiver whose worker ends with it is told once in each attempt")
def lost_worker():
    with Daemon(configuration("db: { push: true }")) as daemon:
        (daemon.folder / "receiver").write_text(RECEIVER + "kill -9 $PPID\n")
        daemon.done("post", "db", "down", "--level", "critical")
        eventually(lambda: "ended by signal 9" in daemon.done("alerts"), "the end")
        equal(texts(daemon.folder), ["db critical"])


@test("an alert of a failed or stale server has the reason")
def reasons():
    with Daemon(configuration("check: { exec: [FOLDER/check], interval: 100ms }, old: { push: true, ttl: 500ms }"), start=False) as daemon:
        daemon.file.write_text(daemon.file.read_text().replace("FOLDER", str(daemon.folder)))
        (daemon.folder / "check").write_text("#!/bin/sh\necho well\n")
        (daemon.folder / "check").chmod(0o755)
        daemon.start()
        eventually(lambda: daemon.text("check") == "well")
        (daemon.folder / "check").unlink()
        daemon.done("post", "old", "fine")
        eventually(lambda: sorted(texts(daemon.folder)) == ["check unknown", "old unknown"], "both")
        found = {entry["server"]: entry["text"] for entry in told(daemon.folder)}
        equal(found["old"], "fine (stale)")
        contains(found["check"], "well (failed: cannot run ", "No such file or directory)")


@test("what was told is known after a reboot")
def reboot():
    with Daemon(configuration("db: { exec: [/bin/sh, -c, 'echo seen; exit $(cat FOLDER/level)'], interval: 100ms }")) as daemon:
        daemon.stop()
        daemon.file.write_text(daemon.file.read_text().replace("FOLDER", str(daemon.folder)))
        (daemon.folder / "level").write_text("2")
        daemon.start()
        eventually(lambda: texts(daemon.folder) == ["db critical"], "the problem")
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.folder / "state" / "statusd.sqlite")) as store, store:
            store.execute("UPDATE daemon SET boot = 'another'")
        daemon.start()
        eventually(lambda: daemon.describe("db").get("restored") is None, "a new result")
        eventually(lambda: "db" not in daemon.done("alerts"), "nothing is left to tell")
        (daemon.folder / "level").write_text("0")
        eventually(lambda: texts(daemon.folder) == ["db critical", "db ok"], "the recovery, and nothing else")
        equal(len({entry["id"] for entry in told(daemon.folder)}), 1)


@test("only those who may make changes may silence, test, and see the receivers")
def permissions():
    need_root()
    with Daemon(configuration("db: { push: true }")) as daemon:
        daemon.folder.chmod(0o755)
        pathlib.Path(daemon.socket).parent.chmod(0o755)
        for arguments in ("silence", "db"), ("unsilence", "db"), ("alerts",), ("alerts", "--test"):
            result = daemon.ctl(*arguments, user=NOBODY, group=NOBODY)
            equal(result.status, 77, str(arguments))
            contains(one_sentence(result, 77), "permission denied")


@test("verify names a receiver's program that is missing or that its user may not run")
def verified():
    with Daemon(configuration("db: { push: true }")) as daemon:
        program = daemon.folder / "receiver"
        for prepare, text in ((lambda: program.chmod(0o644), "Permission denied"), (program.unlink, "No such file or directory")):
            prepare()
            result = run(STATUSCTL, "verify", daemon.file)
            equal(result.status, 0)
            contains(result.err, f"warning: {daemon.file}:1: the receiver script: cannot run {program}: {text}")
