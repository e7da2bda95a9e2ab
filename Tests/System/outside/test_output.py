# SPDX-License-Identifier: Apache-2.0
"""The output of statusctl on a real terminal (tmux), of different widths, and the servers that `list` shows."""

import json

from harness.daemon import STATUSCTL, Daemon
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test
from harness.tmux import Screen

TEXTS = {"ascii": "Signed In", "chinese": "日本語 で", "rocket": "🚀 up", "combining": "e\u0301te\u0301", "family": "👩‍👩‍👧 in", "flag": "🇩🇪 ❤\ufe0f 👍🏽"}


def screen(daemon, *arguments, width=80, height=24):
    """A terminal that runs statusctl, and then stays."""
    return Screen("sh", "-c", 'trap : INT; "$@"; echo "ended with $?"; exec sleep 60', "sh", STATUSCTL, *arguments, width=width, height=height,
                  STATUSD_ADDRESS=f"unix:{daemon.socket}")


@test("on a terminal, columns line up below wide characters, emoji and combining ones")
def alignment():
    with Daemon() as daemon:
        for name in TEXTS:
            for other in TEXTS:
                daemon.done("post", other, TEXTS[other], "--level", "warning" if other == name else "ok")
            with screen(daemon, "list", width=60) as shown:
                shown.shows("ended with 0")
                equal(shown.place("warning"), shown.place("LEVEL"), f"the column below LEVEL behind {TEXTS[name]!r}")


@test("list, status and history fit a terminal of 40, 60, 80 and 200 columns")
def widths():
    with Daemon("servers:\n  database-of-the-shop: { push: true, description: " + "word " * 60 + "}\n") as daemon:
        daemon.done("post", "database-of-the-shop", "Signed In " + "日本 " * 60)
        daemon.done("select", "database-of-the-shop")
        for width, columns in ((40, ["LEVEL"]), (60, ["LEVEL", "AGE"]), (80, ["LEVEL", "AGE", "SOURCE"]), (200, ["LEVEL", "SINCE", "AGE", "SOURCE"])):
            with screen(daemon, "list", width=width) as shown:
                lines = shown.shows("ended with 0")
                equal(lines[0].split(), ["SERVER", "STATUS", *columns])
                equal(lines[2], "ended with 0", f"the third line at {width} columns")
                contains(lines[1], "…", " ok")
            with screen(daemon, "history", "--summary", width=width, height=40) as shown:
                contains(shown.shows("ended with 0", "blank: no status")[0], "database-of-the-shop: 100 % available")
            with screen(daemon, "status", width=width, height=40) as shown:
                lines = shown.shows("ended with 0", "word word")
                assert not any(line.startswith(("word", "ord", "rd", "d ")) for line in lines), lines


@test("status --all counts all servers in one line, names those that are not ok, and has one exit status")
def all_servers():
    with Daemon("accept: any\nservers:\n" + "".join(f"  s{number}: {{ push: true }}\n" for number in range(5))) as daemon:
        for number in range(4):
            daemon.done("post", f"s{number}", "up")
        result = daemon.ctl("status", "--all")
        equal((result.out, result.status), ("5 servers: 1 without a status (s4), 4 ok\n", 3))
        daemon.done("post", "s4", "up")
        result = daemon.ctl("status", "--all")
        equal((result.out, result.status), ("5 servers: 5 ok\n", 0))
        for number in range(4):
            daemon.done("post", f"s{number}", "slow", "--level", "warning")
        daemon.done("post", "disk", "97 % full", "--level", "critical")
        result = daemon.ctl("status", "--all")
        equal((result.out, result.status), ("6 servers: 1 critical (disk), 4 warning (s0, s1, s2 and 1 more), 1 ok\n", 3))
        found = json.loads(daemon.ctl("status", "--all", "--json").out)
        equal([found[key] for key in ("count", "ok", "warning", "critical", "unknown", "none")], [6, 1, 4, 1, 0, 0])
        equal([server["name"] for server in found["problems"]], ["disk", "s0", "s1", "s2", "s3"])
        for arguments in (["s0", "--all"], ["--all", "--format", "{name}"]):
            equal(daemon.ctl("status", *arguments).status, 64, f"{arguments}")


@test("status --all cannot say that all is well while servers may be missing, because a file has an error")
def missing_servers():
    with Daemon("servers: { s: { push: true } }\n", start=False) as daemon:
        (daemon.folder / "etc" / "conf.d").mkdir()
        (daemon.folder / "etc" / "conf.d" / "x.yaml").write_text("servers:\n\tdb: { push: true }\n")
        daemon.start()
        daemon.done("post", "s", "up")
        result = daemon.ctl("status", "--all")
        equal((result.out, result.status), ("1 server: 1 ok\n", 3))
        contains(result.err, "warning: ", "error in the configuration")
        contains(json.loads(daemon.ctl("status", "--all", "--json").out)["notices"][0], "error in the configuration")


@test("statusctl alone shows how the host is doing on a terminal, with the worst, and names --help; in a script it lacks its command")
def alone():
    with Daemon("accept: any\n") as daemon:
        equal(one_sentence(daemon.ctl("status", "--all"), 3),
              "statusctl: no servers yet; run “statusctl init” to follow what this host has, or “statusctl post NAME TEXT”")
        for number in range(6):
            daemon.done("post", f"s{number}", "slow", "--level", "warning")
        daemon.done("post", "disk", "97 % full", "--level", "critical")
        with screen(daemon) as shown:
            lines = shown.shows("ended with 3")
            equal(lines[:8], ["7 servers: 1 critical (disk), 6 warning (s0, s1, s2 and 3 more)",
                               "  critical  disk: 97 % full", *(f"  warning   s{number}: slow" for number in range(4)),
                               "  and 2 more; see “statusctl list”", "statusctl: for all commands, see “statusctl --help”"])
        result = daemon.ctl()
        equal((result.out, result.status), ("", 64))
        contains(result.err, "missing command; run “statusctl --help”")


@test("a critical status that has become stale, or that cannot be checked any more, stays critical in filters, sums and the summary")
def stale_critical():
    with Daemon("servers:\n  a: { push: true, ttl: 100ms }\n  b: { push: true, ttl: 100ms }\n  c: { push: true }\n") as daemon:
        for name, level in (("a", "critical"), ("b", "warning"), ("c", "ok")):
            daemon.done("post", name, "text", "--level", level)
        for name in "ab":
            eventually(lambda: daemon.describe(name)["stale"], f"{name} is stale")
        for level, wanted in (("critical", "a"), ("unknown", "ab"), ("warning", "ab"), ("ok", "abc")):
            equal(daemon.done("list", "--format", "{name}", "--level", level), "".join(f"{name}\n" for name in wanted), level)
        buckets = json.loads(daemon.done("history", "a", "--summary", "--json"))["buckets"]
        equal(sum(bucket["times"]["unknown"] for bucket in buckets), 0, buckets)
        equal(buckets[-1]["worst"], "critical")


@test("list shows only the servers that all its options include; a stale server counts as unknown")
def filters():
    with Daemon("servers:\n  a: { push: true }\n  b: { push: true, ttl: 100ms }\n  c: { push: true }\n  d: { exec: [/bin/echo, well] }\n  e: { push: true }\n") as daemon:
        for name, level in (("a", "ok"), ("b", "ok"), ("c", "critical")):
            daemon.done("post", name, "text", "--level", level)
        daemon.done("select", "c")
        daemon.done("wait", "d")
        eventually(lambda: daemon.describe("b")["stale"], "b is stale")

        def names(*options):
            listed = json.loads(daemon.done("list", "--json", *options))["servers"]
            equal(daemon.done("list", "--format", "{name}", *options), "".join(f"{server['name']}\n" for server in listed))
            return "".join(server["name"] for server in listed)

        for options, wanted in (("", "abcde"), ("--level ok", "abcd"), ("--level warning", "bc"), ("--level unknown", "bc"),
                                ("--level critical", "c"), ("--selected", "c"), ("--stale", "b"), ("--source exec", "d"),
                                ("--source push --level ok", "abc"), ("--selected --stale", "")):
            equal(names(*options.split()), wanted, options)
        contains(daemon.ctl("list", "--selected", "--stale").err, "none of the 5 servers matches")
        contains(daemon.ctl("list", "--source", "htp").err, "must be one of push, notify")


@test("status shows several servers, and its exit status is that of the first that is not ok")
def several():
    with Daemon() as daemon:
        for name, level in (("a", "ok"), ("b", "critical"), ("c", "ok")):
            daemon.done("post", name, "text", "--level", level)
        equal(daemon.ctl("status", "a", "c").status, 0)
        told = daemon.ctl("status", "a", "b", "nope", "--format", "{name} {level}")
        equal((told.status, told.out), (3, "a ok\nb critical\n"))
        contains(told.err, "no server named “nope”")
        equal(daemon.ctl("status", "a", "nope").status, 4)
        told = daemon.ctl("status", "a", "nope", "c", "--json")
        lines = [json.loads(line) for line in told.out.splitlines()]
        equal([line.get("name", line.get("error")) for line in lines], ["a", "org.statusd.monitor.NoSuchServer", "c"])
        equal(daemon.done("status", "a", "c").count("\n\n"), 1)
        equal(daemon.ctl("status", "a", "nope", "c").out.count("\n\n"), 1)


@test("list --watch writes the list again after each change, in a pipe and as JSON")
def watched():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed Out")
        with daemon.follow("list", "--watch", "--format", "{name}={text}") as plain, daemon.follow("list", "--watch", "--json") as objects:
            equal(plain.next(), "db=Signed Out")
            equal([server["name"] for server in json.loads(objects.next())["servers"]], ["db"])
            daemon.done("post", "db", "Signed In")
            equal((plain.next(), plain.next()), ("", "db=Signed In"))
            daemon.done("post", "web", "up")
            plain.until("web=up")
            objects.until('"name":"web"')
            daemon.stop()
            daemon.start()
            daemon.done("post", "db", "back")
            plain.until("db=back")
            equal((plain.end(), objects.end()), (0, 0))


@test("list --watch replaces the list on a terminal, shows that the daemon is away, and leaves the last list")
def watched_on_a_terminal():
    with Daemon() as daemon:
        for number in range(30):
            daemon.done("post", f"server{number:02}", "Signed In")
        with screen(daemon, "list", "--watch", height=20) as shown:
            lines = shown.shows("server00", "… and 14 more")
            equal(lines[0].split()[0], "SERVER")
            daemon.done("post", "server01", "Signed Out", "--level", "critical")
            shown.shows("Signed Out")
            equal(shown.text().count("SERVER "), 1)
            daemon.done("post", "server29", "Full", "--level", "warning")
            shown.shows("… and 14 more (1 warning)")
            daemon.stop()
            shown.shows("the daemon disconnected; waiting for it to return")
            daemon.start()
            shown.shows("(before restart)")
            eventually(lambda: "disconnected" not in shown.text())
            shown.type("C-c")
            lines = shown.shows("ended with 0")
            equal(shown.text().count("SERVER "), 1)
