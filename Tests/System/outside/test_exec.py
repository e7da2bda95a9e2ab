# SPDX-License-Identifier: Apache-2.0
"""exec: Debian's monitoring-plugins, unchanged, and plugins that misbehave."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from harness.daemon import STATUSD, Daemon, environment
from harness.expect import Skip, contains, equal, eventually, one_sentence
from harness.runner import test
from harness.servers import listener, refused_port, web

PLUGINS = "/usr/lib/nagios/plugins"


def plugin(name):
    """The path of one of Debian's plugins."""
    path = f"{PLUGINS}/{name}"
    if not os.path.exists(path):
        raise Skip(f"there is no {path}; packaging/setup --test installs it")
    return path


TALKATIVE = """\
#!/bin/sh
printf 'DISK CRITICAL - / is full | /=99%%;80;90\\n/var 12 %%\\n/home 40 %% | /var=12%%\\n'
echo 'cannot read /secret' >&2
exit 2
"""


@test("what a plugin writes after its first line, its performance data and its last run are shown by status, but not by list or watch")
def output():
    with Daemon(lambda folder: f"servers:\n  disk: {{ exec: [{folder}/talk, -w, 80%], interval: 1h }}\n  db: {{ push: true }}\n", start=False) as daemon:
        (daemon.folder / "talk").write_text(TALKATIVE)
        (daemon.folder / "talk").chmod(0o755)
        daemon.start()
        eventually(lambda: daemon.text("disk"), "the first check")
        server = json.loads(daemon.ctl("status", "disk", "--json").out)
        equal((server["longOutput"], server["performanceData"]), ("/var 12 %\n/home 40 % ", "/=99%;80;90 /var=12%"))
        check = server["check"]
        equal((check["command"], check["exitStatus"], check["errors"]), ([f"{daemon.folder}/talk", "-w", "80%"], 2, "cannot read /secret"))
        assert check["milliseconds"] < 60_000 and check["next"] > check["startedAt"], check
        contains(daemon.ctl("status", "disk").out, f"  Command:      {daemon.folder}/talk -w 80%\n", "; took ", "  Next check:   20",
                 "  Performance:  /=99%;80;90 /var=12%\n", "  Output:       /var 12 %\n                /home 40 %")
        assert "check" not in json.loads(daemon.ctl("status", "db", "--json").out)
        for listed in json.loads(daemon.done("list", "--json"))["servers"]:
            assert "check" not in listed and "longOutput" not in listed, listed


@test("refresh --verbose shows what a plugin ran, how it ended, how long that took, and all that it wrote")
def verbose():
    with Daemon(lambda folder: (f"servers:\n  disk: {{ exec: [{folder}/talk], interval: 1h }}\n  silent: {{ exec: [/bin/true], interval: 1h }}\n"
                                "  gone: { exec: [/nonexistent], interval: 1h }\n  port: { tcp: 127.0.0.1:1, interval: 1h }\n"), start=False) as daemon:
        (daemon.folder / "talk").write_text(TALKATIVE)
        (daemon.folder / "talk").chmod(0o755)
        daemon.start()
        lines = daemon.done("refresh", "disk", "--verbose").splitlines()
        contains(lines[0], "disk: DISK CRITICAL - / is full [critical]")
        equal(lines[1], f"command:     {daemon.folder}/talk")
        assert lines[2].startswith("took:        "), lines
        equal(lines[3:], ["exit status: 2", "standard output:", "  DISK CRITICAL - / is full | /=99%;80;90", "  /var 12 %", "  /home 40 % | /var=12%",
                          "standard error:", "  cannot read /secret"])
        equal(daemon.done("refresh", "silent", "--verbose").splitlines()[3:], ["exit status: 0", "standard output: nothing", "standard error: nothing"])
        contains(one_sentence(daemon.ctl("refresh", "gone", "--verbose"), 1), "cannot run /nonexistent")
        equal(len(daemon.done("refresh", "port", "--verbose").splitlines()), 2)
        for arguments in (["--all"], ["disk", "--json"]):
            equal(daemon.ctl("refresh", "--verbose", *arguments).status, 64, f"{arguments}")


def processes(marker):
    """The number of processes with this word among their arguments."""
    count = 0
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    count += marker.encode() in file.read().split(b"\0")
            except OSError:
                pass
    return count


def script(daemon, name, text):
    """An executable script in the daemon's folder."""
    path = daemon.folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def once(servers):
    """A configuration whose checks run at the start, and then on request."""
    return f"defaults: {{ interval: 1h }}\nservers:\n{servers}"


@test("the executor starts workers even if the service manager does not read its notifications")
def deaf_service_manager():
    program = ("import os, sys\n"
               "os.dup2(int(sys.argv[1]), 3)\n"
               "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='executor')\n"
               "os.execv(sys.argv[2], [sys.argv[2], 'executor'])\n")
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        listener.bind(f"{folder}/executor")
        listener.listen()
        listener.setblocking(False)
        manager.bind(f"{folder}/manager")
        manager.settimeout(10)
        other.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                other.sendto(b"X=1", f"{folder}/manager")
        executor = subprocess.Popen([sys.executable, "-c", program, str(listener.fileno()), STATUSD], pass_fds=[listener.fileno()],
                                    env=environment(NOTIFY_SOCKET=f"{folder}/manager", WATCHDOG_USEC="60000000"))
        try:
            with socket.socket(socket.AF_UNIX) as caller:
                caller.settimeout(10)
                caller.connect(f"{folder}/executor")
                equal(caller.recv(100), b"{}\0", "the greeting of a worker")
            # Both are sent again at once, when there is room: the next keep-alive would come in half a minute.
            heard = []
            while not {"READY=1", "WATCHDOG=1"} <= set(heard):
                heard.append(manager.recv(100).decode())
        finally:
            executor.terminate()
            executor.wait(10)


@test("check_dummy: the exit status is the level, the first line up to | the text")
def check_dummy():
    path = plugin("check_dummy")
    servers = "".join(f"  s{status}: {{ exec: [{path}, '{status}', 'text {status}|a=1'] }}\n" for status in range(4))
    with Daemon(once(servers)) as daemon:
        for status, level in enumerate(("ok", "warning", "critical", "unknown")):
            daemon.done("wait", f"s{status}", "--level", level, "--timeout", "15s")
            equal(daemon.text(f"s{status}"), f"{level.upper()}: text {status}")


@test("check_disk: a disk with enough free space is ok; one with less is not")
def check_disk():
    path = plugin("check_disk")
    with Daemon(once(f"  disk: {{ exec: [{path}, -w, 0%, -c, 0%, -p, /] }}\n"
                     f"  full: {{ exec: [{path}, -w, 100%, -c, 100%, -p, /] }}\n")) as daemon:
        daemon.done("wait", "disk", "--timeout", "15s")
        daemon.done("wait", "full", "--level", "critical", "--timeout", "15s")
        contains(daemon.text("disk"), "DISK OK - free space: /")
        assert "|" not in daemon.text("disk")


@test("check_tcp and check_http report servers that are up or down")
def check_network():
    tcp, http = plugin("check_tcp"), plugin("check_http")
    with web() as server, listener() as port:
        with Daemon(once(f"  open: {{ exec: [{tcp}, -H, 127.0.0.1, -p, '{port}'] }}\n"
                         f"  closed: {{ exec: [{tcp}, -H, 127.0.0.1, -p, '{refused_port()}'] }}\n"
                         f"  page: {{ exec: [{http}, -H, 127.0.0.1, -p, '{server.port}', -u, /, -s, ready] }}\n"
                         f"  gone: {{ exec: [{http}, -H, 127.0.0.1, -p, '{server.port}', -u, /status/404] }}\n")) as daemon:
            for name, level, part in (("open", "ok", "TCP OK"), ("closed", "critical", "refused"),
                                      ("page", "ok", "HTTP OK"), ("gone", "warning", "404")):
                daemon.done("wait", name, "--level", level, "--timeout", "15s")
                contains(daemon.text(name), part)


@test("a plugin that cannot be run is failed with the reason, and the daemon continues")
def cannot_run():
    with Daemon(once("  gone: { exec: [/nonexistent/check] }\n  plain: { exec: [/etc/passwd] }\n")) as daemon:
        for name, reason in (("gone", "No such file or directory"), ("plain", "Permission denied")):
            state = eventually(lambda name=name: (state := daemon.describe(name))["phase"] == "failed" and state)
            contains(state["message"], "cannot run /", reason)
            contains(daemon.ctl("refresh", name).err, f"cannot refresh {name}: cannot run", reason)


@test("a plugin that times out is killed with its process group, and is critical; “failures” counts it, too")
def time_limit():
    marker = f"86400.{os.getpid()}"
    with Daemon(start=False) as daemon:
        flag = daemon.folder / "slow"
        path = script(daemon, "check", f"[ -e {flag} ] || {{ echo quick; exit; }}\ntrap '' TERM\n(trap '' TERM; sleep {marker}) &\n"
                      f"sleep {marker}\n")
        daemon.file.write_text(f"servers:\n  disk: {{ exec: [{path}], timeout: 300ms, interval: 1h, failures: 2 }}\n")
        daemon.start()
        daemon.done("wait", "disk", "--text", "quick", "--timeout", "15s")
        flag.touch()
        contains(daemon.done("refresh", "disk"), "disk: quick [ok] (timed out after 300ms [critical]; 1 of 2 before it counts)")
        contains(daemon.done("refresh", "disk"), "disk: timed out after 300ms [critical]")
        eventually(lambda: processes(marker) == 0, "no process left")
        equal(daemon.ctl("status", "disk").status, 3)
        flag.unlink()
        contains(daemon.done("refresh", "disk"), "disk: quick [ok]")
        equal(daemon.describe("disk")["phase"], "loaded")


@test("what a plugin wrote before it timed out, and while it cleaned up, is shown")
def output_before_the_timeout():
    with Daemon(start=False) as daemon:
        path = script(daemon, "check", "trap 'echo cleaning; exit 1' TERM\necho connecting\necho no route >&2\nsleep 60 &\nwait\n")
        daemon.file.write_text(f"servers:\n  disk: {{ exec: [{path}], timeout: 300ms, interval: 1h }}\n")
        daemon.start()
        shown = daemon.ctl("refresh", "disk", "--verbose").out
        contains(shown, "disk: timed out after 300ms [critical]", "standard output:\n  connecting\n  cleaning\n",
                 "standard error:\n  no route\n")
        assert "exit status" not in shown, shown


@test("no shell sees the arguments, and the service manager's variables reach no plugin")
def arguments():
    with Daemon(once("  echo: { exec: [/bin/echo, $HOME, 'a  b', '*', '; true'] }\n"
                     "  env: { exec: [/bin/sh, -c, 'echo x$NOTIFY_SOCKET$RUNTIME_DIRECTORY'] }\n")) as daemon:
        for name, text in (("echo", "$HOME a  b * ; true"), ("env", "x")):
            daemon.done("wait", name, "--timeout", "15s")
            equal(daemon.text(name), text)


@test("10,000 checks leave no process and no descriptor, and stay within the limit of concurrent checks", limit=300)
def ten_thousand():
    with Daemon(start=False) as daemon:
        counter = daemon.folder / "count"
        servers = "".join(f"  s{number}: {{ exec: [/bin/sh, -c, 'echo >>{counter}; echo fine'] }}\n" for number in range(100))
        daemon.file.write_text(f"defaults: {{ interval: 100ms }}\nlimits: {{ processes: 8 }}\nservers:\n{servers}")
        daemon.start()
        daemon.done("wait", "s99", "--timeout", "30s")
        before = daemon.descriptors()
        most = 0

        def enough():
            nonlocal most
            most = max(most, sum(len(children(worker)) for worker in children(daemon.process.pid)))
            return counter.stat().st_size >= 10000

        eventually(enough, "10,000 checks", patience=240)
        assert 1 <= most <= 8, f"{most} processes side by side"
        daemon.file.write_text("servers: {}\n")
        daemon.done("reload")
        eventually(lambda: children(daemon.process.pid) == [], "no child process, dead or alive", patience=40)
        daemon.assert_no_leak(before)
        daemon.assert_alive()


def children(process):
    """The child processes of a process, including dead ones that are not yet reaped; none if it has ended."""
    found = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children", encoding="ascii") as file:
                found += file.read().split()
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


@test("a thousand checks spread over their interval", limit=120)
def spread():
    with Daemon(start=False) as daemon:
        log = daemon.folder / "times"
        servers = "".join(f"  s{number}: {{ exec: [/bin/sh, -c, 'date +%s%N >>{log}'] }}\n" for number in range(1000))
        daemon.file.write_text(f"defaults: {{ interval: 10s }}\nservers:\n{servers}")
        daemon.start()
        times = eventually(lambda: len(lines := log.read_text().split() if log.exists() else []) >= 1900 and lines,
                           "almost all second loads", patience=60)
        second = sorted(int(time) for time in times)[1000:1900]
        # If they were bunched, some tenth of the time would hold most of them.
        tenth = (second[-1] - second[0]) / 10
        fullest = max(sum(1 for time in second if begin <= time < begin + tenth)
                      for begin in (second[0] + tenth * part for part in range(10)))
        assert fullest < 450, f"{fullest} of {len(second)} in a tenth of {tenth * 10 / 1e9:.1f} s"


@test("a plugin whose worker ends shortly before its deadline has failed, not timed out")
def cut_short():
    with Daemon(start=False) as daemon:
        # The second one gets only the rest of the time.
        command = script(daemon, "cut", "sleep 2.5; kill -9 $PPID; sleep 60")
        daemon.file.write_text(once(f"  cut: {{ exec: [{command}], timeout: 4s }}\n"))
        daemon.start()
        server = eventually(lambda: (state := daemon.describe("cut"))["phase"] != "loading" and state)
        equal(server["phase"], "failed")
        contains(server["message"], "its worker ended")


@test("a daemon that stops ends its plugins without waiting for them")
def stops():
    marker = f"86401.{os.getpid()}"
    with Daemon(once(f"  slow: {{ exec: [/bin/sleep, '{marker}'], timeout: 1h }}\n")) as daemon:
        eventually(lambda: processes(marker) == 1, "the plugin")
        with daemon.follow("refresh", "slow") as asker:
            eventually(lambda: daemon.describe("slow")["refreshing"])
            equal(daemon.stop(), 0, "exit status on SIGTERM")
            equal(asker.wait(), 69, "exit status of refresh")
            eventually(lambda: any("cannot refresh slow: the daemon closed the connection" in line for line in asker.errors))
        eventually(lambda: processes(marker) == 0, "no plugin left")


@test("a daemon that is killed leaves no plugin behind")
def killed():
    marker = f"86403.{os.getpid()}"
    with Daemon(once(f"  slow: {{ exec: [/bin/sh, -c, 'setsid sleep {marker} & sleep {marker}'], timeout: 1h }}\n")) as daemon:
        eventually(lambda: processes(marker) == 2, "the plugin")
        daemon.stop(signal.SIGKILL)
        eventually(lambda: processes(marker) == 0, "no plugin left")


@test("a missing or hanging executor is a failed load with that reason, not a timed-out plugin")
def silent_executor():
    with Daemon("servers: { disk: { exec: [/bin/echo, well], timeout: 300ms, interval: 1h } }\n", start=False) as daemon:
        path = str(daemon.folder / "executor")
        daemon.environment["STATUSD_EXECUTOR"] = path
        daemon.start()
        contains(one_sentence(daemon.ctl("refresh", "disk"), 1), "cannot run plugins: cannot connect to", path, "No such file",
                 "systemctl status statusd-executor.socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            contains(one_sentence(daemon.ctl("refresh", "disk"), 1), "cannot run plugins: the executor does not answer")
            equal(daemon.describe("disk")["phase"], "failed")


@test("an executor that still sends after a check has timed out is not read any more; one that ends then is replaced")
def endless_executor():
    with Daemon("servers: { disk: { exec: [/bin/echo, well], timeout: 300ms, interval: 1h } }\n", start=False) as daemon, \
            socket.socket(socket.AF_UNIX) as listening:
        path = str(daemon.folder / "executor")
        daemon.environment["STATUSD_EXECUTOR"] = path
        listening.bind(path)
        listening.listen()
        listening.settimeout(10)
        sent, has_stopped = 0, threading.Event()

        def flood():
            nonlocal sent
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"{}\0")
                while connection.recv(65536):
                    pass
                connection.settimeout(1)
                with contextlib.suppress(OSError):
                    while sent < 100_000_000:
                        sent += connection.send(bytes(65536))
            has_stopped.set()

        threading.Thread(target=flood).start()
        daemon.start()
        assert has_stopped.wait(10)
        assert sent < 2_000_000, f"{sent} bytes were read"

        def answer():
            connection, _ = listening.accept()
            connection.sendall(b"{}\0")
            if connection.recv(65536):
                connection.sendall(b'{"exitStatus":0,"output":"DISK OK"}\0')
                connection.recv(65536)

        threading.Thread(target=answer).start()
        contains(daemon.done("refresh", "disk"), "DISK OK")


@test("a plugin that daemonises is ended with its check")
def daemonises():
    marker = f"86404.{os.getpid()}"
    with Daemon(start=False) as daemon:
        begun = daemon.folder / "begun"
        path = script(daemon, "check", f"setsid -f sh -c 'touch {begun}; exec sleep {marker}'\n"
                      f"until [ -e {begun} ]; do :; done\necho well\n")
        daemon.file.write_text(once(f"  disk: {{ exec: [{path}] }}\n"))
        daemon.start()
        daemon.done("wait", "disk", "--text", "well", "--timeout", "15s")
        equal(processes(marker), 0, "processes left")


@test("a plugin's server is valid in verify, refreshable, and loading before its first load")
def loading():
    with Daemon(once("  slow: { exec: [/bin/sleep, '86402'], placeholder: not asked yet }\n")) as daemon:
        equal(daemon.ctl("verify", daemon.file).status, 0)
        state = daemon.describe("slow")
        equal((state["phase"], state["message"], state["refreshable"], state["source"]),
              ("loading", "not asked yet", True, "exec"))
