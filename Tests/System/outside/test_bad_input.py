# SPDX-License-Identifier: Apache-2.0
"""Error handling: one clear sentence, a distinct exit status, never a stack trace, never a hang."""

import json
import os
import pwd
import signal
import socket

from harness.attacker import need_root
from harness.daemon import NOBODY, STATUSCTL, STATUSD, Daemon, environment, readable_binaries, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test

BAD = "servers:\n  db: { push: true }\n  web: { push: [\n"


@test("an unknown server ends with 4 and its name, in status and select")
def unknown_server():
    with Daemon() as daemon:
        for command in ("status", "select"):
            contains(one_sentence(daemon.ctl(command, "nosuch"), 4), "nosuch")
            result = daemon.ctl(command, "nosuch", "--json")
            error = json.loads(result.out)
            equal((result.status, error["error"]), (4, "org.statusd.monitor.NoSuchServer"))
            equal(error["parameters"], {"server": "nosuch"})


@test("a mistyped server name suggests the nearest one; the JSON of the error stays the same")
def mistyped_server():
    with Daemon("servers: { db: { push: true }, login: { push: true } }\n") as daemon:
        for command in ("status", "select", "refresh", "watch", "forget"):
            equal(one_sentence(daemon.ctl(command, "dbb"), 4), "statusctl: no server named “dbb”; did you mean “db”?")
        equal(one_sentence(daemon.ctl("status", "web"), 4), "statusctl: no server named “web”; run “statusctl list” to see all servers")
        equal(one_sentence(daemon.ctl("wait", "lgoin", "--timeout", "500ms"), 75),
              "statusctl: timed out: no server named “lgoin” yet; did you mean “login”?")
        equal(json.loads(daemon.ctl("status", "dbb", "--json").out),
              {"error": "org.statusd.monitor.NoSuchServer", "parameters": {"server": "dbb"}})


@test("in a locale that is not UTF-8, quotes are ASCII on both outputs; status texts and JSON stay UTF-8")
def ascii_quotes():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "“größer” als 5 °C…")
        for locale in {"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "POSIX"}, {"LC_ALL": "de_DE.ISO-8859-1"}:
            plain = environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", **locale)
            equal(one_sentence(daemon.ctl("status", "dbb", env=plain), 4), 'statusctl: no server named "dbb"; did you mean "db"?')
            result = daemon.ctl("status", "--jsn", env=plain)
            equal((result.status, result.err),
                  (64, 'statusctl: unknown option "--jsn"; did you mean "--json"?\nusage: statusctl status [OPTION...] [NAME...]\n'))
            assert daemon.ctl("--help", env=plain).out.isascii()
            contains(daemon.ctl("status", "db", env=plain).out, 'db: "größer" als 5 °C...\n')
            equal(json.loads(daemon.ctl("status", "db", "--json", env=plain).out)["status"]["text"], "“größer” als 5 °C…")
            contains(daemon.ctl("post", "db", "--json", env=plain).out, "missing TEXT")
            equal(run(STATUSD, "start", env=plain).err, 'statusd: unexpected argument "start"\nusage: statusd [OPTION...]\n')


@test("a daemon that does not list its servers, nor its notices, costs only the suggestion and the warnings")
def no_suggestion():
    with Daemon(start=False) as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(daemon.socket)
        listener.listen()
        with daemon.follow("status", "dbb") as asker:
            with listener.accept()[0] as asked:
                asked.recv(1 << 16)
                asked.sendall(b'{"error":"org.statusd.monitor.NoSuchServer","parameters":{"server":"dbb"}}\0')
                contains(asked.recv(1 << 16).decode(), "org.statusd.monitor.List")
                equal(asker.wait(), 4, "exit status")
            equal(asker.errors, ["statusctl: no server named “dbb”; run “statusctl list” to see all servers"])


@test("a daemon that hangs after its answer delays the message about an unknown server by two seconds at most")
def hanging_suggestion():
    with Daemon(start=False) as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(daemon.socket)
        listener.listen()
        with daemon.follow("status", "dbb") as asker, listener.accept()[0] as asked:
            asked.recv(1 << 16)
            asked.sendall(b'{"error":"org.statusd.monitor.NoSuchServer","parameters":{"server":"dbb"}}\0')
            equal(asker.wait(), 4, "exit status")
            equal(asker.errors, ["statusctl: no server named “dbb”; run “statusctl list” to see all servers"])


@test("a server that is not configured may not post where accept is configured")
def not_accepted():
    with Daemon("accept: configured\nservers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        contains(one_sentence(daemon.ctl("post", "web", "Hello"), 4), "web")
        contains(one_sentence(daemon.ctl("post", "dbb", "Hello"), 4), "did you mean “db”?")
        equal(daemon.describe("db")["status"]["text"], "Signed In")


@test("a wrong name, an empty text and a text that is too long are refused and change nothing")
def refused_posts():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        for server, text in (("a b", "x"), ("-x", "x"), ("n" * 65, "x"), ("../db", "x"), ("db", ""), ("db", "  \t "),
                             ("db", "x" * 1025), ("db", "é" * 513)):
            result = daemon.ctl("post", "--", server, text)
            assert result.status not in (0, 77, 69) and result.status < 128, (server, text, result)
            one_sentence_or_usage(result)
        with daemon.connect() as connection:
            equal([s["name"] for s in connection.call("List")["servers"]], ["db"])
        equal(daemon.text("db"), "Signed In")
        daemon.done("post", "db", "é" * 512)


def one_sentence_or_usage(result):
    """Usage errors may show the usage below their sentence."""
    if result.status == 64:
        assert result.err.strip() and "Fatal error" not in result.err, result.err
    else:
        one_sentence(result, result.status)


@test("an invalid command line ends with 64")
def usage():
    with Daemon() as daemon:
        for arguments in (["nonsense"], ["post"], ["post", "db"], ["status", "--nonsense"], ["select"]):
            equal(daemon.ctl(*arguments).status, 64, f"exit status of {arguments}")
        equal(run(STATUSD, "--nonsense").status, 64, "exit status of statusd --nonsense")


@test("a word that is nearly a command or an option is answered with a suggestion")
def suggestions():
    for words, meant in ((["stat", "db"], "status"), (["hist"], "history"), (["version"], "--version"), (["-V"], "--version")):
        contains(run(STATUSCTL, *words).err, f"did you mean “{meant}”?")


@test("wait --timeout 0 asks once: the answer is about the server, not about the daemon")
def ask_once():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        equal(daemon.ctl("wait", "db", "--timeout", "0").status, 0)
        contains(one_sentence(daemon.ctl("wait", "db", "--level", "critical", "--timeout", "0"), 75), "timed out: db is “Signed In” (ok)")
        # A placeholder is no status.
        daemon.file.write_text("accept: any\nservers: { a: { push: true, placeholder: Signed Out } }\n")
        daemon.done("reload")
        contains(one_sentence(daemon.ctl("wait", "a", "--text", "Signed Out", "--timeout", "0"), 75), "timed out: a: (Signed Out)")
        contains(one_sentence(daemon.ctl("wait", "web", "--timeout", "0"), 75), "no server named “web” yet")


@test("output that cannot be written ends with 1 and one sentence; errors that cannot be written keep their exit status")
def no_output():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        for arguments in ("list", "status", "watch", "list --json"):
            result = daemon.ctl_in_shell(f"{arguments} >/dev/full")
            contains(one_sentence(result, 1), "No space left on device")
        one_sentence(daemon.ctl_in_shell("list >&-"), 1)
        for limited in "list", "watch":
            result = daemon.ctl_in_shell(f"{limited} >'{daemon.folder}/output'", before="ulimit -f 0; ")
            contains(one_sentence(result, 1), "File too large")
        equal(daemon.ctl_in_shell("status nosuch 2>&-").status, 4)


@test("no daemon: each command ends with 69 and one sentence that has the address")
def no_daemon():
    with Daemon(start=False) as daemon:
        for arguments in (["list"], ["status"], ["select", "db"], ["post", "db", "x"], ["reload"], ["watch", "--no-reconnect"]):
            contains(one_sentence(daemon.ctl(*arguments), 69), daemon.socket)
        result = daemon.ctl("list", "--json")
        equal(result.status, 69)
        assert json.loads(result.out)["error"], result.out
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind(daemon.socket)  # left by a dead daemon
        one_sentence(daemon.ctl("list"), 69)


@test("an invalid address ends with 64, one without a listener with 69")
def wrong_address():
    for address in ("nonsense", "tcp:127.0.0.1:5", "unix:", "unix:relative;mode=0666;x", ""):
        result = run(STATUSCTL, "list", "--address", address)
        assert result.status in (64, 69) and result.err.strip(), (address, result)
    equal(run(STATUSCTL, "list", "--address", "tcp:127.0.0.1:5").status, 64)
    contains(run(STATUSCTL, "list", "--address", "nonsense").err, "statusctl: invalid --address “nonsense”: must be /path, unix:/path, unix:@name, exec:/path or bridge:/path")
    contains(one_sentence(run(STATUSCTL, "list", env=environment(STATUSD_ADDRESS="nonsense")), 64), "$STATUSD_ADDRESS: invalid address “nonsense”")
    one_sentence(run(STATUSCTL, "list", "--address", "unix:/nonexistent/socket"), 69)
    contains(one_sentence(run(STATUSCTL, "list", "--address", "/\x1b[31m"), 69), "unix:/\\u{1b}[31m")
    one_sentence(run(STATUSCTL, "list", "--address", f"unix:{__file__}"), 69)
    one_sentence(run(STATUSCTL, "list", env=environment(STATUSD_ADDRESS="unix:/nonexistent/socket")), 69)


@test("a user who is neither root nor in the group may read; changes end with 77")
def no_permission():
    need_root()
    with Daemon() as daemon:
        readable_binaries(daemon.folder)
        command = str(daemon.folder / "statusctl")
        daemon.done("post", "db", "Signed In")
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": [],
                   "env": environment(STATUSD_ADDRESS=f"unix:{daemon.socket}")}
        for arguments in (["select", "db"], ["select", "--none"], ["post", "db", "x"], ["post", "new", "x"], ["reload"]):
            one_sentence(run(command, *arguments, **options), 77)
        contains(run(command, "list", **options).out, "Signed In")
        equal(run(command, "status", "db", **options).status, 0)
        equal(daemon.text("db"), "Signed In")


@test("invalid YAML: verify and statusd end with 78 and name file, line and reason")
def malformed_yaml():
    with Daemon(BAD, start=False) as daemon:
        place = f"{daemon.file}:"
        for result in (daemon.ctl("verify", daemon.file), run(STATUSD, "--config", daemon.file, env=daemon.environment)):
            equal(result.status, 78, f"exit status of {result.command}: {result.err}")
            line = next(line for line in (result.err + result.out).splitlines() if place in line)
            number, reason = line.split(place, 1)[1].split(":", 1)
            assert int(number.split(":")[0]) in (3, 4) and reason.strip(), line
            assert "Fatal error" not in result.err and "Yams" not in result.err, result.err


@test("a time that is out of range is refused with examples that are accepted")
def time_examples():
    with Daemon(start=False) as daemon:
        for setting, range_, example in (("history: { keep: 30s }", "from 1min to 36600d", "5min or 30d"),
                                         ("servers: { db: { push: true, ttl: 0 } }", "", "30s or 5min")):
            daemon.file.write_text(setting + "\n")
            result = daemon.ctl("verify", daemon.file)
            equal(result.status, 78)
            contains(result.err + result.out, range_, f"such as {example}")


@test("verify is silent about a valid file, and warns of an unknown key with file and line")
def verify():
    with Daemon("servers:\n  db: { push: true }\n", start=False) as daemon:
        result = daemon.ctl("verify", daemon.file)
        equal((result.status, result.err), (0, ""))
        daemon.file.write_text("servers:\n  db:\n    push: true\n    psuh: true\n")
        result = daemon.ctl("verify", daemon.file)
        equal(result.status, 0, result.err)
        contains(result.out + result.err, f"{daemon.file}:4", "psuh")


@test("a missing configuration file ends statusd and verify with 78")
def no_file():
    with Daemon(start=False) as daemon:
        path = daemon.folder / "none.yaml"
        contains(one_sentence(run(STATUSD, "--config", path, env=daemon.environment), 78), str(path))
        contains(one_sentence(daemon.ctl("verify", path), 78), str(path))


@test("a reload of an invalid file ends with 78, names file and line, and changes nothing")
def bad_reload():
    with Daemon("servers: { db: { push: true } }\nselect: db\n") as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.file.write_text(BAD)
        result = daemon.ctl("reload")
        equal(result.status, 78, result.err)
        contains(result.err + result.out, f"{daemon.file}:")
        equal(daemon.text("db"), "Signed In")
        daemon.file.write_text("servers: { db: { push: true }, web: { push: true } }\n")
        daemon.done("reload")
        equal(daemon.describe("web")["name"], "web")
        equal(daemon.text("db"), "Signed In")
        lines = daemon.manager.lines()
        assert any(line.startswith("MONOTONIC_USEC=") for line in lines) and "RELOADING=1" in lines, lines


@test("a server whose configuration becomes invalid is failed with its last status, and recovers when it is corrected")
def mended():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "Signed In")
        for wrong in ("psh: true", "notify: { users: [no-such-user] }"):
            daemon.file.write_text(f"servers: {{ db: {{ {wrong} }} }}\n")
            daemon.ctl("reload")
            contains(daemon.ctl("status", "db").out, "Signed In", "failed")
            daemon.file.write_text("servers: { db: { push: true } }\n")
            daemon.done("reload")
            contains(daemon.ctl("status", "db").out, "db: Signed In", "Level:        ok")
        for source in ("exec: [/bin/sleep, '9']", "psh: true", "exec: [/bin/sleep, '9']"):
            daemon.file.write_text(f"servers: {{ db: {{ {source} }} }}\n")
            daemon.ctl("reload")
        equal(daemon.describe("db")["phase"], "loading", "a source that has not loaded yet")
        daemon.file.write_text("servers: { db: { notify: true } }\n")
        daemon.done("reload")
        contains(daemon.ctl("status", "db").out, "no status yet")


@test("a reload with one invalid server says that the rest of the configuration is in effect, and only then")
def partial_reload():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.file.write_text("servers: { db: { psh: true }, web: { push: true } }\n")
        result = daemon.ctl("reload")
        equal(result.status, 78, result.err)
        contains(result.err, "statusctl: the rest of the configuration is in effect; ")
        equal(daemon.describe("web")["name"], "web")
        daemon.file.write_text("select: a b\naccept: some\nservers: {}\n")
        result = daemon.ctl("reload")
        contains(result.err, "; run “statusctl verify” to see 1 more")
        assert "is in effect" not in result.err


@test("a reload warns of keys that do not apply, and succeeds")
def reload_warnings():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        equal(daemon.ctl("reload").err, "")
        daemon.file.write_text("servers: { db: { push: true, colour: red } }\n")
        result = daemon.ctl("reload")
        equal((result.status, result.out), (0, ""))
        contains(result.err, f"warning: {daemon.file}:1: server db: ", "unknown key “colour” is ignored")
        contains(daemon.done("reload", "--json"), '"warnings":[{"file":')


@test("a oneway Reload takes effect even if the client disconnects at once")
def oneway_reload():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.file.write_text("servers: { db: { push: true }, web: { push: true } }\n")
        with daemon.connect() as connection:
            connection.send("Reload", oneway=True)
        eventually(lambda: "web" in daemon.done("list"), "the new server")


@test("SIGHUP reloads, too, and an invalid file does not end the daemon")
def hang_up():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        daemon.file.write_text("servers: { db: { push: true }, web: { push: true } }\n")
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "web" in daemon.done("list"), "the new server in list")
        daemon.file.write_text(BAD)
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: f"{daemon.file}:" in daemon.log(), "file and line in the log")
        daemon.assert_alive()


@test("an unwritable directory ends statusd with 1 and is named")
def unwritable_directory():
    need_root()
    with Daemon(start=False) as daemon:
        readable_binaries(daemon.folder)
        result = run(daemon.folder / "statusd", env=daemon.environment, user=NOBODY, group=NOBODY, extra_groups=[])
        contains(one_sentence(result, 1), str(daemon.runtime))


@test("as root, statusd refuses a directory that others may write to, leaves it unchanged, and says what to do")
def foreign_directory():
    need_root()

    def owned(daemon):
        os.chown(daemon.runtime, NOBODY, NOBODY)

    def writable(daemon):
        daemon.runtime.chmod(0o1777)

    def owned_within(daemon):
        (daemon.runtime / "notify").mkdir(mode=0o755)
        os.chown(daemon.runtime / "notify", NOBODY, NOBODY)

    def within_owned(daemon):
        os.chown(daemon.folder, NOBODY, NOBODY)

    def elsewhere(daemon):
        (daemon.runtime / "notify").symlink_to(daemon.folder / "etc")

    for prepare, reason in ((owned, f"belongs to user {pwd.getpwuid(NOBODY).pw_name}; "), (writable, "users other than root can write to"),
                            (owned_within, f"notify belongs to user {pwd.getpwuid(NOBODY).pw_name}; "), (elsewhere, "notify is not a directory but a link or a file"),
                            (within_owned, "users other than root can replace files in the directory")):
        with Daemon("servers: { web: { notify: true } }\n", start=False) as daemon:
            prepare(daemon)
            before = everything_in(daemon.folder)
            contains(one_sentence(run(STATUSD, env=daemon.environment), 1), reason, "set RUNTIME_DIRECTORY")
            equal(everything_in(daemon.folder), before, prepare.__name__)


def everything_in(folder):
    """The contents of a folder, with owner and mode."""
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {str(path): (status.st_uid, status.st_gid, status.st_mode) for path, status in found.items()}


@test("a second daemon in the same directory ends with 1 and does not disturb the first")
def living_daemon():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        contains(one_sentence(run(STATUSD, env=daemon.environment), 1), "another statusd", str(daemon.runtime))
        daemon.assert_alive()
        equal(daemon.text("db"), "Signed In")
        systemd_socket = daemon.notify_path("db")
        assert os.path.exists(systemd_socket), "the refused daemon removed a notify socket"


@test("the sockets that a killed daemon left are replaced")
def dead_daemon():
    with Daemon("servers: { web: { notify: true } }\n") as daemon:
        daemon.stop(signal.SIGKILL)
        assert os.path.exists(daemon.socket)
        daemon.start()
        daemon.assert_alive()


@test("a file at the socket's path that is not a socket is never removed")
def other_file():
    with Daemon(start=False) as daemon:
        with open(daemon.socket, "w", encoding="ascii") as file:
            file.write("precious")
        contains(one_sentence(run(STATUSD, env=daemon.environment), 1), daemon.socket)
        with open(daemon.socket, encoding="ascii") as file:
            equal(file.read(), "precious")


@test("control characters in a text reach neither the service manager's protocol nor a terminal")
def injection():
    texts = ("x\nSTOPPING=1", "x\r\nWATCHDOG=trigger\nMAINPID=1", "\x1b[31mred\x1b[0m", "\x9b31m", "a\u202eb\u2028c", "tab\there",
             "x=y\x00z", "\x7f\x07")
    with Daemon() as daemon, daemon.connect() as connection:
        connection.call("Post", {"server": "db", "text": "begin"})
        connection.call("Select", {"server": "db"})
        for number, text in enumerate(texts):
            connection.call("Post", {"server": "db", "text": f"{number} {text}"})
            shown = daemon.text()
            assert shown.startswith(f"{number} ") and shown.isprintable(), repr(shown)
            daemon.manager.wait_for(f"STATUS=db: {shown}")
            for command in ("list", "status"):
                for character in daemon.ctl(command).out:
                    assert character == "\n" or character.isprintable(), f"{command} writes {character!r}"
        lines = daemon.manager.lines()
        for forbidden in ("STOPPING=1", "WATCHDOG=trigger", "MAINPID=1"):
            assert forbidden not in lines, lines
        daemon.assert_alive()
