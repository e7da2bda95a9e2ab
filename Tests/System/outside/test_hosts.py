# SPDX-License-Identifier: Apache-2.0
"""statusctl --host, through a real sshd on loopback, statusctl bridge, and --address exec: and bridge:."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from harness.attacker import need_root
from harness.daemon import BINARIES, NOBODY, STATUSCTL, Daemon, Follower, environment, readable_binaries, run
from harness.expect import Skip, contains, equal, eventually, one_sentence
from harness.runner import test
from harness.tmux import Screen


def free_port():
    """A port of loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Host:
    """An sshd on loopback, whose sessions see the daemon at this address; ended with the `with` block."""

    def __init__(self, daemon):
        if not os.path.exists("/usr/sbin/sshd"):
            raise Skip("there is no sshd; packaging/setup --test installs it")
        need_root()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sshd-", dir="/tmp"))
        self.folder.chmod(0o755)
        readable_binaries(self.folder)
        os.makedirs("/run/sshd", exist_ok=True)
        for name in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
        self.port = free_port()
        (self.folder / "sshd_config").write_text(f"""Port {self.port}
ListenAddress 127.0.0.1
HostKey {self.folder}/host
AuthorizedKeysFile {self.folder}/user.pub
StrictModes no
UsePAM no
PidFile none
SetEnv HOME={self.folder} PATH={self.folder}:/usr/bin:/bin STATUSD_ADDRESS=unix:{daemon.socket}
""", encoding="utf-8")
        (self.folder / "config").write_text(f"""Host web1 web2 *@web1
HostName 127.0.0.1
Port {self.port}
IdentityFile {self.folder}/user
UserKnownHostsFile {self.folder}/known
StrictHostKeyChecking no
LogLevel ERROR
Host away
HostName 127.0.0.1
Port {free_port()}
""", encoding="utf-8")
        ssh = self.folder / "ssh"
        ssh.write_text(f"#!/bin/sh\nexec ssh -F {self.folder}/config \"$@\"\n", encoding="utf-8")
        ssh.chmod(0o755)
        self.environment = environment(SYSTEMD_SSH=ssh)
        self.process = None
        self.start()

    def start(self):
        """Starts the sshd."""
        self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", self.folder / "sshd_config", "-E", self.folder / "log"],
                                        start_new_session=True)

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        eventually(answers, "sshd")

    def stop(self):
        """Ends the sshd and its sessions."""
        for child in subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def ctl(self, *arguments):
        """Runs statusctl with these arguments."""
        return run(STATUSCTL, *arguments, env=self.environment)

    def follow(self, *arguments):
        """Starts a statusctl that writes until it is stopped."""
        return Follower(STATUSCTL, *arguments, env=self.environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@test("each command works on another host as on this one")
def commands():
    with Daemon("servers: { db: { push: true }, disk: { exec: [/bin/echo, DISK OK] } }\n") as daemon, Host(daemon) as host:
        daemon.done("wait", "disk")
        for arguments, part in ((("post", "db", "it's \"$HOME\" <&> 日本"), ""), (("select", "db"), ""), (("list",), "* db "), (("status",), 'it\'s "$HOME" <&> 日本'),
                                (("wait", "db", "--timeout", "10s"), ""), (("refresh", "disk"), "DISK OK"), (("refresh", "--all"), "DISK OK"),
                                (("history", "db"), " by root"), (("history", "--all", "--summary"), "db: 100 % available"), (("reload",), ""),
                                (("status", "db", "--json"), '"name":"db"'), (("verify", daemon.file), "")):
            result = host.ctl(*arguments, "-H", "web1")
            equal((result.status, result.err), (0, ""), str(arguments))
            contains(result.out, part)
        equal(host.ctl("-H", "root@web1", "status", "db").status, 0)
        equal(host.ctl("status", "nope", "--host=web1").status, 4)
        contains(host.ctl("verify", "/nonexistent/it's.yaml", "-H", "web1").err, "/nonexistent/it's.yaml")


@test("the rights are those of the user on the other host")
def rights():
    with Daemon() as daemon, Host(daemon) as host:
        daemon.done("post", "db", "Signed In")
        # The account nobody has no shell, so the session's command is given.
        with open(host.folder / "sshd_config", "a", encoding="utf-8") as settings:
            settings.write(f"ForceCommand setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups statusctl bridge\n")
        host.stop()
        host.start()
        contains(host.ctl("-H", "web1", "list").out, "Signed In")
        contains(one_sentence(host.ctl("-H", "web1", "post", "db", "x"), 77), "permission denied")


@test("watch continues after a broken connection without missing or repeating an event")
def broken():
    with Daemon() as daemon, Host(daemon) as host:
        daemon.done("post", "db", "text 0")
        daemon.done("select", "db")
        with host.follow("-H", "web1", "watch") as watch, host.follow("-H", "web1", "watch", "--json") as objects:
            watch.until("text 0")
            first = objects.next()
            host.stop()
            eventually(lambda: any("the connection to web1 broke; connecting again" in line for line in watch.errors))
            for number in (1, 2, 3):
                daemon.done("post", "db", f"text {number}")
            host.start()
            texts = [watch.until(f"text {number}") for number in (1, 2, 3)]
            equal(len(texts), 3)
            eventually(lambda: any("the daemon is back" in line for line in watch.errors))
            kinds = [json.loads(line).get("kind", line) for line in [first] + [objects.next() for _ in range(5)]]
            equal(kinds, ["snapshot", "disconnected", "reconnected", "changed", "changed", "changed"])
            # A restart of the daemon ends the bridge, too.
            daemon.stop()
            daemon.start()
            daemon.done("post", "db", "text 4")
            watch.until("text 4")
            equal(watch.end(), 0)
            equal(len([line for line in watch.seen if "text" in line and "text 4" not in line]), 4)


@test("a follower that connects again to another host starts no daemon there, and gives advice if that takes long")
def away_for_long():
    with Daemon() as daemon, Host(daemon) as host:
        daemon.done("post", "db", "Signed In")
        calls = host.folder / "calls"
        ssh = host.folder / "ssh"
        ssh.write_text(ssh.read_text(encoding="utf-8").replace("exec", f"echo $* >>{calls}; exec"), encoding="utf-8")
        with host.follow("-H", "web1", "watch", "db") as watch:
            watch.until("Signed In")
            host.stop()
            advice = "statusctl: there is still no connection to web1; try “ssh web1 systemctl status statusd.socket statusd”"
            eventually(lambda: advice in watch.errors, "the advice", patience=20)
            first, *others = calls.read_text(encoding="utf-8").splitlines()
            assert "--no-start" not in first and "BatchMode" not in first, first
            assert others and all("--no-start" in call and "BatchMode" in call for call in others), others
            host.start()
            eventually(lambda: watch.errors[-1] == "statusctl: the daemon is back", "the return", patience=20)
            equal(watch.errors.count(advice), 1)


@test("several hosts are listed together, and one that fails is reported in addition")
def several():
    with Daemon() as daemon, Host(daemon) as host:
        daemon.done("post", "db", "Signed In")
        result = host.ctl("-H", "web1,web2", "list")
        equal((result.status, result.err), (0, ""))
        equal([line.split()[:2] for line in result.out.splitlines()], [["HOST", "SERVER"], ["web1", "db"], ["web2", "db"]])
        result = host.ctl("-H", "web1,away", "list", "--format", "{host}/{name}")
        equal((result.status, result.out), (69, "web1/db\n"))
        contains(result.err, "Connection refused", "away: cannot reach the daemon: the connection to away ended; “ssh away statusctl list” must work")
        lines = [json.loads(line) for line in host.ctl("-H", "web2,away,web1", "list", "--json").out.splitlines()]
        equal([(line["host"], line.get("error")) for line in lines],
              [("web2", None), ("web1", None), ("away", "org.statusd.monitor.Unavailable")])
        contains(host.ctl("-H", "web1,web2", "status").err, "give one host; only list and top take several")


@test("invalid names of hosts and options are rejected in one sentence, and a name cannot become an option of ssh")
def mistakes():
    with Daemon() as daemon, Host(daemon) as host:
        mark = host.folder / "mark"
        for name in (f"-oProxyCommand=touch {mark}", f"x;touch {mark}", f"$(touch {mark})", "", "web1,"):
            result = host.ctl("list", f"--host={name}")
            equal(result.status, 64, name)
            contains(result.err, "must be HOST or USER@HOST")
        assert not mark.exists()
        contains(host.ctl("-H", "web1", "list", "--address", "exec:/bin/true").err, "with --host, --address must be the path of a socket on that host")
        result = host.ctl("-H", "web1", "list", "--address", "unix:/nonexistent")
        equal(result.status, 69)
        contains(result.err, "nothing listens at unix:/nonexistent", "cannot reach the daemon: the connection to web1 ended; “ssh web1 statusctl list” must work")
        contains(run(STATUSCTL, "-H", "web1", "list", env=environment(SYSTEMD_SSH="/nonexistent/ssh")).err, "cannot start /nonexistent/ssh: there is no such program")
        contains(host.ctl("-H", "web1", "list", "--address", daemon.socket).err or "ok", "no servers yet")


PEER = """#!/usr/bin/env python3
import os, sys
while sys.stdin.buffer.read(1):
    while sys.stdin.buffer.read(1) not in (b"\\0", b""):
        pass
    sys.stdout.buffer.write(os.environ["REPLY"].encode() + b"\\0")
    sys.stdout.buffer.flush()
"""


@test("a daemon that sends numbers out of range ends a command with one sentence, and with no crash")
def hostile_numbers():
    with Daemon(start=False) as daemon:
        peer = daemon.folder / "peer"
        peer.write_text(PEER, encoding="utf-8")
        peer.chmod(0o755)
        huge = 2 ** 63 - 1
        change = {"change": {"kind": "changed", "at": "2026-11-26T14:54:15.000Z", "server": "db", "text": "x", "level": "ok", "lasted": huge}}
        bucket = {"start": "2026-11-26T14:54:15.000Z", "worst": "ok", "times": {"ok": huge, "warning": huge}, "changes": huge}
        period = {"server": "db", "since": "2026-11-26T14:54:15.000Z", "until": "2026-11-26T15:54:15.000Z"}
        for command, reply in ((("history", "db"), change), (("history", "db", "--summary"), {**period, "buckets": [bucket]})):
            environment_ = environment(REPLY=json.dumps({"parameters": reply}))
            contains(one_sentence(run(STATUSCTL, *command, "--address", f"bridge:{peer}", env=environment_), 1), "invalid reply")


@test("ssh may ask for a password on the terminal")
def password():
    with Daemon() as daemon, Host(daemon) as host:
        daemon.done("post", "db", "Signed In")
        ssh = host.folder / "ssh"
        ssh.write_text(f"#!/bin/sh\nprintf 'Password: ' >/dev/tty; read -r word </dev/tty; [ \"$word\" = secret ] || exit 1\n"
                       f"exec ssh -F {host.folder}/config \"$@\"\n", encoding="utf-8")
        with Screen("sh", "-c", f"'{STATUSCTL}' -H web1 status db; echo \"ended with $?\"; exec sleep 60", SYSTEMD_SSH=ssh) as shown:
            shown.shows("Password:")
            shown.type("secret", "Enter")
            shown.shows("Signed In", "ended with 0")


@test("another host cannot write control characters to the terminal, or lines that look like statusctl's")
def hostile_errors():
    with tempfile.TemporaryDirectory() as folder:
        ssh = pathlib.Path(folder, "ssh")
        ssh.write_text("#!/bin/sh\nprintf '\\033[2J\\033[Hstatusctl: all is fine\\r\\nno end' >&2; head -c 20000 /dev/zero | tr '\\0' x >&2; exit 1\n", encoding="utf-8")
        ssh.chmod(0o755)
        for command in ("list", "status", "watch"):
            told = run(STATUSCTL, "-H", "evil", command, env=environment(SYSTEMD_SSH=ssh))
            equal((told.status, told.out), (69, ""))
            first, *parts, last = told.err.splitlines()
            equal(first, "evil: \\u{1b}[2J\\u{1b}[Hstatusctl: all is fine")
            assert parts[0].startswith("evil: no endxxx") and len("".join(parts)) > 20_000 and max(map(len, parts)) < 5000, parts
            contains(last, "statusctl: cannot reach the daemon: the connection to evil ended")


@test("messages that ssh writes over top and list --watch when a connection breaks do not stay")
def written_over():
    with Daemon() as daemon, Host(daemon) as host:
        daemon.done("post", "db", "Signed In")
        # Later than statusctl notices the end.
        (host.folder / "ssh").write_text(f"#!/bin/sh\necho It begins. >&2; ssh -F {host.folder}/config \"$@\"\ntrap '' TERM; exec 0<&- 1>&-; sleep 0.7\n"
                                          # Not for the attempts to connect again.
                                          "case $* in *BatchMode*) exit 255;; esac\n"
                                          "echo Connection closed by remote host. >&2; : >'{host.folder}/written'\n".replace("{host.folder}", str(host.folder)),
                                          encoding="utf-8")
        for command in ("top", "list --watch"):
            with Screen("sh", "-c", f"'{STATUSCTL}' -H web1 {command}; exec sleep 60", SYSTEMD_SSH=host.folder / "ssh") as shown:
                shown.shows("Signed In")
                host.stop()
                shown.shows("the connection to web1 broke; connecting again")
                eventually((host.folder / "written").exists, "ssh's message")
                (host.folder / "written").unlink()
                host.start()
                daemon.done("post", "db", f"seen by {command}")

                def is_clean():
                    lines = [line for line in shown.lines() if line.strip()]
                    last = "\n".join(lines if command == "top" else lines[-2:])
                    return f"seen by {command}" in last and last.count("SERVER ") == 1 and "closed by" not in last
                eventually(is_clean, command, patience=20)
            daemon.done("post", "db", "Signed In")


@test("statusctl bridge passes on calls and replies, and ends with either side")
def bridge():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [STATUSCTL, "bridge", "--address", f"unix:{daemon.socket}"]
        call = b'{"method":"org.statusd.monitor.List"}\0'
        with subprocess.Popen(command, **options) as process:
            out, err = process.communicate(call * 1000, timeout=20)
            equal((out.count(b"Signed In"), out.count(b"\0"), err, process.returncode), (1000, 1000, b"", 0))
        with subprocess.Popen(command, **options) as process:
            process.stdin.write(call)
            process.stdin.flush()
            contains(process.stdout.read1(4096).decode(), "Signed In")
            daemon.stop()
            equal(process.wait(10), 0)
        daemon.start()
        with subprocess.Popen(command, **options) as process:
            process.stdin.write(b'{"method":"org.statusd.monitor.Watch","parameters":{"all":true},"more":true}\0')
            process.stdin.flush()
            contains(process.stdout.read1(4096).decode(), "snapshot")
            process.stdout.close()
            equal(process.wait(10), 0)
        one_sentence(run(STATUSCTL, "bridge", "--address", "unix:/nonexistent"), 69)


@test("--address may be a program that gets the connection, or that passes it on")
def programs():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        contains(run(STATUSCTL, "list", "--address", f"bridge:{STATUSCTL} bridge --address unix:{daemon.socket}").out, "Signed In")
        service = pathlib.Path(daemon.folder, "service")
        service.write_text(f"""#!/usr/bin/python3
import os, socket, threading
assert os.environ["LISTEN_FDS"] == "1" and os.environ["LISTEN_PID"] == str(os.getpid())
client, daemon = socket.socket(fileno=3), socket.socket(socket.AF_UNIX)
daemon.connect({daemon.socket!r})
def copy(source, target):
    while data := source.recv(65536):
        target.sendall(data)
threading.Thread(target=copy, args=(client, daemon), daemon=True).start()
copy(daemon, client)
""", encoding="utf-8")
        service.chmod(0o755)
        contains(run(STATUSCTL, "list", "--address", f"exec:{service}").out, "Signed In")
        contains(run(STATUSCTL, "list", env=environment(STATUSD_ADDRESS=f"exec:{service}")).out, "Signed In")
        contains(one_sentence(run(STATUSCTL, "list", "--address", "exec:/nonexistent"), 69), "cannot start /nonexistent")
        ends_at_once = pathlib.Path(daemon.folder, "ends-at-once")
        ends_at_once.write_text("#!/bin/sh\necho started >&2\n", encoding="utf-8")
        ends_at_once.chmod(0o755)
        for form in ("exec", "bridge"):
            told = run(STATUSCTL, "list", "--address", f"{form}:{ends_at_once}")
            equal((told.status, told.err.count("started")), (69, 1), "a program is not a daemon that may be restarting")
        contains(run(STATUSCTL, "list", "--address", "exec:ls").err, "must be /path, unix:/path, unix:@name, exec:/path or bridge:/path")


@test("top shows several hosts in one list, acts on the host of the row, and says which host is away and since when")
def top():
    with Daemon() as first, Daemon() as second, Host(first) as web, Host(second) as db:
        first.done("post", "nginx", "Signed In")
        second.done("post", "mysql", "Signed Out", "--level", "critical")
        config = (db.folder / "config").read_text().replace("web1 web2 *@web1", "db1").split("Host away")[0]
        with open(web.folder / "config", "a", encoding="utf-8") as settings:
            settings.write(config)
        fake = web.folder / "here" / "journalctl"
        fake.parent.mkdir()
        for folder in (fake.parent, db.folder):
            program = folder / "journalctl"
            program.write_text(f"#!/bin/sh\necho \"journal in {folder.name}: $*\"\nread line\n", encoding="utf-8")
            program.chmod(0o755)
        command = f"PATH={fake.parent}:$PATH '{STATUSCTL}' -H web1,db1,away top; echo ended with $?; exec sleep 60"
        with Screen("sh", "-c", command, width=120, SYSTEMD_SSH=web.environment["SYSTEMD_SSH"]) as shown:
            shown.shows("mysql@db1", "nginx@web1", "2 servers  1 critical", "away not reached yet", "“ssh away statusctl list” must work")
            shown.type("*")
            eventually(lambda: second.ctl("status", "--format", "{name}").out == "mysql\n", "the selection on that host")
            shown.shows("* mysql@db1")
            shown.type("j")
            shown.shows(f"journal in {db.folder.name}: -e SERVER=mysql")
            shown.type("Enter")
            shown.shows("mysql@db1: last changes")
            shown.type("Enter")
            shown.shows("mysql: Signed Out", "Host:         db1")
            shown.type("Escape")
            shown.shows("mysql@db1: last changes")
            shown.type("!", "s")
            shown.shows("statusctl -H db1 silence mysql --for 1h")
            db.stop()
            lines = shown.shows("db1 disconnected since ")
            contains(next(line for line in lines if "mysql@db1" in line), "stale")
            assert "stale" not in next(line for line in lines if "nginx@web1" in line)
            first.done("post", "nginx", "Signed In again")
            shown.shows("Signed In again")
            db.start()
            shown.shows("mysql@db1", "2 servers  1 critical")
            eventually(lambda: "disconnected" not in shown.text(), "the host's return")
            shown.type("q")
            shown.shows("ended with 0")
