# SPDX-License-Identifier: Apache-2.0
"""statusctl verify: the configuration in README.md is valid, and each kind of error is reported with file and line."""

import json
import os
import pathlib
import re

from harness.attacker import need_root
from harness.daemon import NOBODY, STATUSCTL, STATUSD, Daemon, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.preload import preloaded
from harness.runner import test

PROJECT = pathlib.Path(__file__).resolve().parents[3]

MISTAKES = {
    "units: a/*": "invalid pattern", "units: [[a]]": "must be failed, a pattern", "units: { state: failed }": "requires “match”",
    "units: { match: a, state: stopped }": "must be active or failed",
    "unit: a/b": "invalid unit name", "unit: x@.service": "invalid unit name", "exec: check_disk -w 10%": "must be a list",
    "exec: [check_disk]": "absolute path", "exec: []": "must be a list", "tcp: 6379": "HOST:PORT", "tcp: '::1:80'": "HOST:PORT",
    "tcp: 'a:65536'": "port from 1 to 65535", "tcp: 'a:+80'": "HOST:PORT", "http: localhost": "http:// or https://", "http: http://x:99999/": "http:// or https://",
    "http: 'http://:80/'": "http:// or https://", "http: http://müller.example/": "must be in ASCII", "http: 'http://[zz]/'": "http:// or https://", "http: 'http://a@/'": "http:// or https://", "http: { status: 200 }": "requires “url”",
    "http: { url: http://a, status: 1000 }": "an HTTP status code from 100 to 599", "http: { url: http://a, method: get }": "an HTTP method in capitals",
    "http: { url: http://a, headers: [a] }": "must be a mapping", "http: { url: http://a, ca: ca.pem }": "absolute path",
    "http: { url: http://a, redirects: many }": "whole number", "http: { url: http://a, contains: }": "must be text", "http: { url: http://a, contains: " + 65 * 1024 * "a" + " }": "more than 64 KiB",
    "http: { url: http://a, method: HEAD, contains: x }": "cannot be combined with HEAD", "notify: maybe": "true, false or a mapping",
    "ping: 'a:80'": "without a port", "ping: { count: 3 }": "requires “host”", "ping: { host: a, count: 0 }": "whole number", "ping: { host: a, loss: 20 }": "must be a percentage such as 85%",
    "dns: a..b": "a domain name in ASCII", "dns: 192.0.2.1": "add “type: PTR”", "dns: { type: A }": "requires “name”", "dns: { name: a, type: ANY }": "one of A, AAAA",
    "dns: { name: a, server: ns.example }": "the address of a name server", "dns: { name: a, expect: [] }": "at least one answer", "dns: { name: a, expect: '::1' }": "IPv4 addresses",
    "dns: { name: a, type: AAAA, expect: 127.0.0.1 }": "IPv6 addresses", "dns: { name: a, expect: " + 65 * 1024 * "1" + ", type: TXT }": "more than 64 KiB",
    "file: db.dump": "absolute path", "file: { age: 1h }": "requires “path”", "file: { path: /a, age: soon }": "must be a time",
    "file: { path: /a, size: 0 }": "whole number", "file: { path: /a, exists: false, size: 1 }": "cannot be combined with “age” or “size”",
    "disk: var": "must be an absolute path on the file system", "disk: /dev/sda1": "and not its device", "disk: { mounted: true }": "requires “path”",
    "disk: { path: /, warning: 85 }": "“warning” must be a percentage such as 85%", "disk: { path: /, warning: 96% }": "“warning” (96%) must not be above “critical” (95%); set both",
    "memory: 85%": "true, false or a mapping", "memory: { swap: 101% }": "“swap” must be a percentage such as 85%, from 1% to 100%",
    "load: high": "true, false or a mapping", "load: { warning: 5 }": "“warning” (5) must not be above “critical” (4)", "load: { over: 1h }": "must be 1min, 5min or 15min",
    "load: { critical: 0 }": "“critical” must be a number such as 1.5, from 0.1 to 1000", "pressure: disk": "must be cpu, io or memory", "pressure: { over: 10s }": "requires “resource”",
    "pressure: { resource: io, over: 30s }": "must be 10s, 1min or 5min", "process: /usr/sbin/sshd": "without a folder and arguments", "process: { count: 1 }": "requires “name”",
    "process: { name: a, count: many }": "must be a number such as 3 or 0, or a range such as 1..10 or 2..",
    "push: perhaps": "true or false", "push: true, ttl: a while": "must be a time", "push: true, ttl: 292271.99y": "must be a time", "exec: [/a], interval: 0s": "must be a time",
    "exec: [/a], timeout: 1x": "must be a time", "exec: [/a], failures: 0": "whole number", "exec: [/a], successes: few": "whole number",
    "http: { url: http://a, contains: '' }": "“contains” must not be empty", "http: { url: http://a, headers: { 'a b': c } }": "must be letters, digits and hyphens",
    "http: { url: http://a, headers: { 'a:b': c } }": "write a space after the colon", "exec: [/a, [b]]": "each part of “exec” must be text",
    "http: { url: http://a, socket: docker.sock }": "absolute path of a Unix socket", "http: { url: http://a, socket: /" + 107 * "a" + " }": "at most 107 bytes",
    "http: { url: http://a, json: a }": "must be a path", "http: { url: http://a, json: { equals: 1 } }": "requires “path”", "http: { url: http://a, json: { path: .a, equals: [1] } }": "“equals” must be text, a number",
    "http: { url: http://a, matches: '(a' }": "is not a regular expression: missing closing parenthesis (at character 3)", "http: { url: http://a, matches: " + 4097 * "a" + " }": "longer than 4 KiB",
    "http: { url: http://a, method: HEAD, json: .a }": "“json” cannot be combined with HEAD", "http: { url: http://a, method: HEAD, body: a }": "“body” cannot be combined with HEAD",
    "http: { url: http://a, headers: { A: { file: /a } } }": "{ credential: NAME }", "http: { url: http://a, headers: { A: { credential: a/b } } }": "{ credential: NAME }",
    "http: { url: http://a, proxy: proxy:3128 }": "“proxy” must be a URL", "http: { url: http://a, proxy: 'http://proxy' }": "“proxy” must be a URL", "http: { url: http://a, socket: /a, proxy: 'http://a:1' }": "cannot be combined with “socket”",
    "http: { url: https://a, expires: soon }": "must be a time from 1min to 3650d", "certificate: 'a:0'": "HOST or HOST:PORT", "certificate: https://a": "HOST or HOST:PORT", "certificate: müller.example": "write it as xn--",
    "certificate: { name: a }": "requires “host”", "certificate: { host: a, starttls: ldap }": "must be smtp, imap or pop3", "certificate: { host: a, name: 'a:443' }": "the name or address in the certificate", "certificate: { host: a, expires: false }": "must be a time from 1min to 3650d",
    "journal: a/b": "invalid unit name", "journal: { match: { priority: 3 } }": "must be in capitals",
    "journal: { match: { PRIORITY: 8 } }": "from 0 to 7", "journal: { match: [a] }": "must be a mapping of journal fields", "journal: { unit: a, within: 8d }": "must be a time",
    "journal: { unit: a, warning: 2, critical: 2 }": "must be less than “critical”", "journal: { unit: a, critical: 0 }": "whole number",
    "group: web": "must be a list of servers", "group: []": "must be a list of servers", "group: [a b]": "invalid member “a b”",
    "group: { critical: 1 }": "requires “of”", "group: { of: [a], critical: some }": "must be all, or a number", "group: { of: [a], critical: 2 }": "more than all members (1)",
    "group: [good, bad]": "must not be a member of itself: bad → bad",
    "tcp: 'a:1', slow: 1s": "“slow” belongs to “tcp”; write it there, as in “tcp: { host: …, slow: … }”", "disk: /, warning: 80%": "“disk: { path: …, warning: … }”",
    "process: { name: 'sle*' }": "is no pattern", "process: true": "the name of a process", "journal: true": "invalid unit name “true”", "units: true": "invalid pattern “true”",
    "units: [failed, a]": "“failed” cannot be in a list",
    "http: { url: http://a, boddy: x }": "unknown key “boddy” in “http”; did you mean “body”?", "file: { path: /a, ago: 1h }": "unknown key “ago” in “file”; did you mean “age”?",
    "http: { url: http://a, json: { path: .a, equal: 1 } }": "unknown key “equal” in “json”; did you mean “equals”?",
    "certificate: { host: a, expire: 1d }": "unknown key “expire” in “certificate”; did you mean “expires”?", "memory: { warn: 80% }": "unknown key “warn” in “memory”; did you mean “warning”?",
    "disk: /, warn: 80%": "unknown key “warn”; “warning” belongs to “disk”",
    "push: true, unit: a": "has several sources: “push”, “unit”; keep one", "description: nothing else": "has no source",
}
"""Possible entries of a server, and verify's message about each."""

MQTT_MISTAKES = {
    "[a]": "“mqtt” must be a mapping", "{ user: a }": "“mqtt” needs “broker”", "{ broker: [] }": "1 to 16 URLs", "{ broker: mq1.example:1883 }": "must be the URL of a broker",
    "{ broker: https://a }": "must be the URL of a broker", "{ broker: mqtt://a:70000 }": "with a port from 1 to 65535", "{ broker: mqtts://me:secret@a }": "must not contain a user; write “user: NAME”",
    "{ broker: mqtt://a, host: -a }": "invalid host name “-a”: it must start with a letter or digit", "{ broker: mqtt://a, publish: [] }": "“publish” must not be empty; write false for none",
    "{ broker: mqtt://a, publish: web }": "“publish” must be all, false, or a list", "{ broker: mqtt://a, publish: [a b] }": "invalid pattern “a b” in “publish”",
    "{ broker: mqtt://a, follow: true }": "“follow” must be false, or a list of hosts", "{ broker: mqtt://a, follow: ['@web1'] }": "invalid pattern “@web1” in “follow”",
    "{ broker: mqtt://a, discovery: homie }": "“discovery” must be homeassistant or false", "{ broker: mqtt://a, folow: [b] }": "unknown key “folow” in “mqtt”; did you mean “follow”?",
}
"""Possible sections `mqtt`, and verify's message about each."""

WARNINGS = {
    "push: true, interval: 1s": "does not apply to “push”", "unit: a, ttl: 1h": "does not apply to “unit”", "units: failed, ttl: 1h": "does not apply to “units”",
    "exec: [/bin/true], runtime: 1h": "it applies to unit and units",
    "group: [good], ttl: 1h": "does not apply to “group”", "group: [good], interval: 1s": "does not apply to “group”", "group: [good, god]": "did you mean “good”?",
    "notify: true, failures: 2": "does not apply to “notify”", "exec: [/bin/true], interval: 1h, ttl: 66min": "stale before the next check",
    "http: { url: http://a, socket: /nosuchfolder/a }": "cannot connect to /nosuchfolder/a: No such file or directory",
    "http: { url: http://a, status: 204, matches: a }": "“matches” never holds",
    "file: /nosuchfolder/a": "cannot enter /nosuchfolder/: No such file or directory", "push: true, colour: red": "unknown key “colour” is ignored",
    "disk: /nosuchfolder/a": "cannot enter /nosuchfolder/",
    "process: { name: a, user: no-such-user }": "unknown user “no-such-user”", "process: sleep 100": "which have no arguments",
    "journal: { match: { MESSAGE: '*full*' } }": "there are no patterns", "journal: { match: { _PIDD: 1 } }": "did you mean “_PID”?",
    "tcp: { host: 'a:1', slow: 500 }": "“slow” (8min 20s) has no effect, because it is not below “timeout” (10s); write a shorter time, such as 500ms",
    "push: true, 'ttl:1h': x": "unknown key “ttl:…” is ignored; write a space after the colon",
}


def problem(daemon, options, severity):
    """verify's message about a server with these options, which are in line 3: the whole sentence."""
    daemon.file.write_text(f"servers:\n  good: {{ push: true }}\n  bad: {{ {options} }}\n")
    result = daemon.ctl("verify", daemon.file)
    equal(result.status, 78 if severity == "error" else 0, options)
    lines = result.err.splitlines()
    equal(len(lines), 1, f"lines about “{options}”: {lines}")
    contains(lines[0], f"statusctl: {severity}: {daemon.file}:3: ")
    verified = json.loads(daemon.ctl("verify", daemon.file, "--json").out)
    equal(verified["files"], [str(daemon.file)])
    problems = verified["problems"]
    equal([(found["severity"], found["file"], found["line"], found["server"]) for found in problems],
          [(severity, str(daemon.file), 3, "bad")])
    return lines[0]


@test("each error in a source's options is reported with file and line, as text and as JSON")
def mistakes():
    with Daemon("servers: {}\n", start=False) as daemon:
        for options, part in MISTAKES.items():
            contains(problem(daemon, options, "error"), part)
        for options, part in WARNINGS.items():
            contains(problem(daemon, options, "warning"), part)


@test("each error in the section mqtt is reported with file and line")
def mqtt_mistakes():
    with Daemon("servers: {}\n", start=False) as daemon:
        for section, part in MQTT_MISTAKES.items():
            daemon.file.write_text(f"servers: {{}}\nmqtt: {section}\n")
            contains(one_sentence(daemon.ctl("verify", daemon.file), 78), f"error: {daemon.file}:2: ", part)
            assert "secret" not in daemon.ctl("verify", daemon.file).err, section


@test("a server with an invalid entry is failed until it is corrected; the others are followed")
def disabled():
    with Daemon("servers:\n  good: { exec: [/bin/echo, well] }\n  bad: { exec: well }\n") as daemon:
        daemon.done("wait", "good", "--timeout", "15s")
        state = daemon.describe("bad")
        equal((state["phase"], state["refreshable"]), ("failed", False))
        contains(state["message"], f"{daemon.file}:3: “exec” must be a list")
        contains(one_sentence(daemon.ctl("refresh", "bad"), 1), "cannot refresh bad: it cannot be followed: ", "“exec” must be a list")
        contains(one_sentence(daemon.ctl("post", "bad", "x"), 1), "“exec” must be a list")
        contains(one_sentence(daemon.ctl("post", "good", "x"), 1), "cannot post the status: the status of good comes from exec; only servers with “push” or “notify” accept posts")
        daemon.file.write_text("servers:\n  good: { exec: [/bin/echo, well] }\n  bad: { exec: [/bin/echo, mended] }\n")
        daemon.done("reload")
        daemon.done("wait", "bad", "--text", "mended", "--timeout", "15s")


@test("control characters in file names are escaped")
def control_characters():
    with Daemon("servers: {}\n", start=False) as daemon:
        (daemon.folder / "etc" / "conf.d").mkdir()
        (daemon.folder / "etc" / "conf.d" / "e\x1bvil\u202e.yaml").write_text("servers: []\n")
        result = daemon.ctl("verify", daemon.folder / "etc")
        contains(result.err, "vil")
        assert "\x1b" not in result.err and "\u202e" not in result.err, repr(result.err)


@test("verify warns of missing requirements and of ignored files")
def missing():
    with Daemon("servers: {}\n", start=False) as daemon:
        daemon.file.write_text("servers:\n  a: { exec: [/nonexistent/check] }\n  b: { notify: { users: [no-such-user] } }\n"
                               "  c: { http: { url: http://a, ca: /nonexistent.pem } }\n")
        (daemon.folder / "etc" / "conf.d").mkdir()
        (daemon.folder / "etc" / "conf.d" / "more.yml").write_text("servers: {}\n")
        result = daemon.ctl("verify", daemon.folder / "etc")
        equal(result.status, 0)
        equal(len(result.err.splitlines()), 4, result.err)
        contains(result.err, "more.yml: ignored because", ":2: server a: cannot run /nonexistent/check: No such file or directory", "unknown user “no-such-user”",
                 "cannot read /nonexistent.pem: No such file or directory")


@test("an invalid drop-in that overrides a server leaves it failed over reloads; removing it restores the server")
def broken_override():
    with Daemon("servers: { db: { push: true } }\n", start=False) as daemon:
        drop_in = daemon.folder / "etc" / "conf.d" / "db.yaml"
        drop_in.parent.mkdir()
        drop_in.write_text("servers: { db: { exec: [/bin/false] } }\n")
        daemon.start()
        eventually(lambda: daemon.describe("db")["phase"] == "loaded")
        drop_in.write_text("servers: { db: { exec: [/bin/false] }\n")
        for _ in range(2):
            equal(daemon.ctl("reload").status, 78)
            state = daemon.describe("db")
            equal((state["phase"], state["source"]), ("failed", "exec"))
            contains(state["message"], f"{drop_in}:")
            equal(daemon.ctl("post", "db", "well").status != 0, True, "a post to it is refused")
        drop_in.write_text("servers: { db: { exec: [/bin/false] } }\n")
        daemon.done("reload")
        eventually(lambda: daemon.describe("db")["phase"] == "loaded")


@test("verify reads conf.d next to the main file; a missing file is reported; a pipe or an unreadable folder is an error")
def what_is_read():
    with Daemon(start=False) as daemon:
        folder = daemon.folder / "etc"
        contains(one_sentence(daemon.ctl("verify", folder), 78), "nothing to check", str(folder))
        drop_ins = folder / "conf.d"
        drop_ins.mkdir()
        (drop_ins / "a.yaml").write_text("servers: { a: { push: maybe } }\n")
        daemon.file.write_text("select: db\n")
        for path in (drop_ins, f"{drop_ins}/", folder):
            result = daemon.ctl("verify", path)
            equal(result.status, 78)
            contains(result.err, f"{drop_ins}/a.yaml:1: server a: ", f"{daemon.file}:1: “select: db”")
        daemon.file.unlink()
        os.mkfifo(daemon.file)
        contains(one_sentence(daemon.ctl("verify", daemon.file), 78), "not a regular file")
        contains(one_sentence(run(STATUSD, env=daemon.environment), 78), "not a regular file")
        daemon.file.unlink()
        daemon.file.mkdir()
        contains(daemon.ctl("verify", folder).err, f"{daemon.file}: not a regular file")
        contains(one_sentence(run(STATUSD, env=daemon.environment), 78), "not a regular file")
        daemon.file.rmdir()
        contains(daemon.ctl("verify", (drop_ins / "a.yaml").rename(drop_ins / "b.yml")).err, f"{drop_ins}/b.yml:1: server a: ")
        (drop_ins / "b.yml").unlink()
        daemon.file.symlink_to("/dev/null")
        equal(daemon.ctl("verify", folder).status, 0)
        drop_ins.rmdir()
        drop_ins.write_text("a file\n")
        contains(one_sentence(daemon.ctl("verify", folder), 78), f"{drop_ins}: cannot read it: Not a directory")


@test("verify is silent about a valid configuration in a directory from the environment, even when root runs it")
def named_by_environment():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.file.parent.chmod(0o700)
        result = run(STATUSCTL, "verify", env=daemon.environment)
        equal((result.status, result.err), (0, ""))


@test("a link to a configuration that is gone is an error, and a reload leaves everything as it was")
def dangling():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "kept")
        target = daemon.folder / "elsewhere.yaml"
        daemon.file.rename(target)
        daemon.file.symlink_to(target)
        daemon.done("reload")
        target.unlink()
        contains(one_sentence(daemon.ctl("verify", daemon.folder / "etc"), 78), f"{daemon.file}: cannot read it: it is a link to a path that does not exist")
        contains(daemon.ctl("reload").err, "cannot reload the configuration; nothing was changed", "a link to a path that does not exist")
        equal(daemon.text("db"), "kept")
        equal(daemon.ctl("post", "anything", "goes").status, 4)
        (daemon.folder / "link").symlink_to(daemon.folder / "nowhere")
        contains(one_sentence(daemon.ctl("verify", daemon.folder / "link"), 78), "link: cannot read it: it is a link to a path that does not exist")


@test("all errors of a file are reported at once, even those of the same server")
def all_mistakes():
    with Daemon(start=False) as daemon:
        daemon.file.write_text("select: a b\naccept: some\nlimits: { message: -1, checks: no }\nservers:\n  a/b: { push: true }\n"
                               "  db:\n    push: maybe\n    ttl: long\n    placeholder: []\n  web: { tcp: nowhere }\n")
        result = daemon.ctl("verify", daemon.file)
        equal(result.status, 78)
        lines = [int(line.split(f"{daemon.file}:")[1].split(":")[0]) for line in result.err.splitlines()]
        equal(sorted(lines), [1, 2, 3, 3, 5, 7, 8, 9, 10])
        daemon.file.write_text("servers:\n  db:\n    push: maybe\n    ttl: long\n    placeholder: []\n  web: { tcp: nowhere }\n")
        result = daemon.ctl("verify", daemon.file)
        lines = [int(line.split(f"{daemon.file}:")[1].split(":")[0]) for line in result.err.splitlines()]
        equal(sorted(lines), [3, 4, 5, 6])
        daemon.file.write_text("servers:\n  web:\n    http:\n      url: localhost\n      method: get\n      redirects: many\n    ttl: long\n")
        result = daemon.ctl("verify", daemon.file)
        lines = [int(line.split(f"{daemon.file}:")[1].split(":")[0]) for line in result.err.splitlines()]
        equal(lines, [4, 5, 6, 7])
        daemon.file.write_text("servers: { web: { http: { method: get } } }\n")
        contains(daemon.ctl("verify", daemon.file).err, "“method” must be", "requires “url”")


@test("a mistyped section is an error with a suggestion; a mistyped key of a server gets a suggestion, too")
def nearest():
    with Daemon(start=False) as daemon:
        daemon.file.write_text("server:\n  db: { push: true }\n")
        contains(one_sentence(daemon.ctl("verify", daemon.file), 78), f"{daemon.file}:1: ", "did you mean “servers”?")
        daemon.file.write_text("servers:\n  db: { push: true, plaeholder: x }\n")
        contains(daemon.ctl("verify", daemon.file).err, "did you mean “placeholder”?")


@test("the configuration that README.md shows is valid, without a warning")
def documented_configuration():
    with Daemon("servers: {}\n", start=False) as daemon:
        examples = re.findall(r"```yaml\n(.*?)```", (PROJECT / "README.md").read_text(), re.DOTALL)
        equal(len(examples), 2)
        daemon.file.write_text("".join(examples).replace("/usr/lib/statusd/alerts", str(PROJECT / "packaging/alerts")))
        result = daemon.ctl("verify", daemon.file)
        equal((result.status, result.err), (0, ""))


@test("README.md names each source kind, and verify reports a value that no kind accepts, with its line")
def documented_kinds():
    with Daemon("servers: { a: { description: x } }\n", start=False) as daemon:
        kinds = re.findall("“([a-z]+)”", daemon.ctl("verify", daemon.file).err.partition("add one of")[2])
    assert "push" in kinds, kinds
    for kind in kinds:
        contains((PROJECT / "README.md").read_text(), f"\n| `{kind}: ")
    with Daemon("servers: {}\n", start=False) as daemon:
        for kind in kinds:
            contains(problem(daemon, f"{kind}: [[a]]", "error"), f"“{kind}”")


@test("a directory that cannot be read completely is an error")
def failing_disk():
    with Daemon() as daemon:
        drop_ins = daemon.folder / "etc" / "conf.d"
        drop_ins.mkdir(parents=True)
        for name in ("a", "b"):
            (drop_ins / f"{name}.yaml").write_text(f"servers: {{ {name}: {{ push: true }} }}\n")
        equal(daemon.ctl("verify", drop_ins.parent).status, 0)
        result = run(STATUSCTL, "verify", drop_ins.parent, env={**daemon.environment, **preloaded("failing_disk")})
        contains(one_sentence(result, 78), f"{drop_ins}: cannot read it: Input/output error")


@test("the first configured server removes what programs had posted: verify, a reload and a start warn of that")
def first_server():
    with Daemon("# nothing yet\n") as daemon:
        daemon.done("post", "--level", "ok", "db", "up")
        daemon.done("post", "--level", "ok", "mail", "up")
        ours = {**daemon.environment, "STATUSD_ADDRESS": f"unix:{daemon.socket}"}
        assert "removes" not in run(STATUSCTL, "verify", env=ours).err
        daemon.file.write_text("servers: { web: { push: true }, post: { push: true, was: mail } }\n")
        contains(run(STATUSCTL, "verify", env=ours).err, f"warning: {daemon.file}: a reload removes servers that take posts now (db), because they are not configured; add “accept: any” to keep them")
        contains(daemon.ctl("reload", "--dry-run").err, "removes servers that programs had posted (db), because only configured servers accept posts now; add “accept: any” to keep them")
        daemon.stop()
        assert "removes" not in run(STATUSCTL, "verify", env=ours).err, "a daemon that does not run"
        daemon.start()
        contains(daemon.log(), "removes servers that programs had posted (db)")
        equal(sorted(server["name"] for server in json.loads(daemon.done("list", "--json"))["servers"]), ["post", "web"])


@test("verify says if it checks the user's own configuration")
def own_configuration():
    need_root()
    with Daemon() as daemon:
        own = daemon.folder / "home" / ".config" / "statusd"
        own.mkdir(parents=True)
        variables = {key: value for key, value in daemon.environment.items() if key != "CONFIGURATION_DIRECTORY"}
        (own / "statusd.yaml").write_text("servers: { db: { push: true } }\n")
        result = run(STATUSCTL, "verify", env={**variables, "HOME": str(own.parent.parent)}, user=NOBODY, group=NOBODY)
        contains(one_sentence(result, 0), f"checking your own configuration, {own}")
