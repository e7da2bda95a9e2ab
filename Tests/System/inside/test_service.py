# SPDX-License-Identifier: Apache-2.0
"""The running service and its service manager: status text, journal, reload, watchdog, restart and stop."""

import contextlib
import grp
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness.bystander import Bystander
from harness.daemon import Follower, environment, run
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.servers import listener, web

from .unit import (CONFIGURATION, DROP_INS, SOCKET, Service, as_user, connect, done, journal, log, main_process, restarted, service, show, statusctl, systemctl,
                   systemd_version)

TWO = "servers: { db: { push: true }, web: { push: true } }\n"


@test("systemctl shows the selected server's status as soon as select has returned")
def status_text():
    with service():
        for server in ("alpha", "bravo"):
            statusctl("post", server, f"{server} is well")
        for server in ("alpha", "bravo") * 25:
            statusctl("select", server)
            equal(show("StatusText"), f"{server}: {server} is well")
        contains(done("systemctl", "status", "statusd"), 'Status: "bravo: bravo is well"')
        statusctl("select", "--none")
        equal(show("StatusText"), "no server selected")


@test("the users of the services cannot have logind start a service manager for them, outside of the sandbox; others can")
def lingering():
    def linger(user, wanted):
        return run("runuser", "-u", user, "--", "busctl", "call", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
                   "SetUserLinger", "ubb", str(pwd.getpwnam(user).pw_uid), wanted, "false")

    for user in ("statusd", "statusd-executor", "statusd-alerts"):
        assert "denied" in linger(user, "true").err, user
        assert not pathlib.Path("/var/lib/systemd/linger", user).exists(), user
    equal(linger("nobody", "true").err, "", "logind answers other users")
    equal(linger("nobody", "false").err, "")


@test("systemd shows a text with a newline and an assignment as one line of text")
def injection():
    with service(), connect() as connection:
        connection.call("Post", {"server": "db", "text": "well\nSTOPPING=1\nMAINPID=1\nSTATUS=forged"})
        connection.call("Select", {"server": "db"})
        text = show("StatusText")
        assert text.startswith("db: well") and "STOPPING=1" in text, text
        equal((show("ActiveState"), show("SubState")), ("active", "running"))
        entry = journal("SERVER=db")[-1]
        assert "forged" in entry["STATUSD_TEXT"] and "STATUS" not in entry and "MAINPID" not in entry, entry


@test("backslashes are shown as they are, even one at the end, which systemd would reject")
def backslashes():
    with service(), connect() as connection:
        for text in (r"share 2 is mounted at \\fs\s" + "\\", r"C:\temp\new", "a\\"):
            connection.call("Post", {"server": "db", "text": text})
            connection.call("Select", {"server": "db"})
            eventually(lambda: show("StatusText") == f"db: {text}", text)


@test("floods of selections and reloads hide nothing from the service manager", limit=120, once=True)
def manager_floods():
    def flood(connections, call, until):
        while not until.is_set():
            for each in connections:
                with contextlib.suppress(BlockingIOError):
                    each.send(call * 50, socket.MSG_DONTWAIT)
                with contextlib.suppress(BlockingIOError):
                    each.recv(1 << 18, socket.MSG_DONTWAIT)

    def during(method, body):
        connections, is_over = [socket.socket(socket.AF_UNIX) for _ in range(100)], threading.Event()
        for each in connections:
            each.connect("/run/statusd/org.statusd.monitor")
        call = b'{"method":"org.statusd.monitor.%s","parameters":{%s}}\0' % method
        thread = threading.Thread(target=flood, args=(connections, call, is_over))
        thread.start()
        try:
            body()
        finally:
            is_over.set()
            thread.join()
            for each in connections:
                each.close()

    with service():
        for name in "ab":
            statusctl("post", name, "before")
        statusctl("select", "a")
        for number in range(4):
            during((b"Select", b'"server":"a"'), lambda: [statusctl("post", "a", f"after {number}") for _ in range(20)])
            eventually(lambda: show("StatusText") == f"a: after {number}")
        for number in range(4):
            during((b"Select", b'"server":"a"'), lambda: statusctl("reload"))
            eventually(lambda: show("SubState") == "running")
        during((b"Reload", b""), lambda: [statusctl("post", "a", f"last {number}") for number in range(200)])
        eventually(lambda: (show("SubState"), show("StatusText")) == ("running", "a: last 199"))
        # One for each post, and the other messages that a person needs.
        messages = [entry["MESSAGE"] for entry in journal(f"_PID={main_process()}")]
        others = [message for message in messages if not message.startswith("a: ")]
        assert len(others) < 50, f"{len(others)} lines in the journal: {others}"


@test("each change is in the journal with its fields, and SERVER= finds it")
def journal_fields():
    with service():
        statusctl("post", "db", "Signed Out")
        statusctl("post", "db", "Signed In", "--level", "warning")
        statusctl("post", "web", "Serving")
        statusctl("select", "db")
        entries = [entry for entry in journal("SERVER=db") if entry["_PID"] == str(main_process())]
        assert entries and all(entry["SERVER"] == "db" for entry in entries), entries
        change = next(entry for entry in entries if entry.get("STATUSD_TEXT") == "Signed In"
                      and entry.get("STATUSD_OLD_TEXT") == "Signed Out")
        for field, value in {"STATUSD_LEVEL": "warning", "STATUSD_PHASE": "loaded", "SYSLOG_IDENTIFIER": "statusd"}.items():
            equal(change.get(field), value, field)
        for field in ("STATUSD_SOURCE", "STATUSD_SELECTED", "STATUSD_REVISION", "PRIORITY"):
            assert change.get(field), f"no {field} in {change}"
        for entry in entries:
            assert re.fullmatch(r"[0-9a-f]{32}", entry.get("MESSAGE_ID", "")), entry
        assert not journal("SERVER=nosuch")
        contains(done("journalctl", "-F", "SERVER"), "db", "web")


@test("the journal holds the daemon's messages, and no complaints from libraries")
def clean_journal():
    with service():
        for number in range(20):
            statusctl("post", "db", str(number))
        entries = journal(f"_PID={main_process()}")
        assert entries
        equal([entry["MESSAGE"] for entry in entries if entry["_TRANSPORT"] != "journal"], [])


@test("a journal that does not read delays nobody; once it reads again, it gets the number of lost messages")
def unread_journal():
    with service(configuration="accept: any\nlimits: { servers: 5000 }\n"), connect() as connection:
        journald = int(show("MainPID", "systemd-journald.service"))
        os.kill(journald, signal.SIGSTOP)
        try:
            with Bystander(Service()) as bystander:
                for number in range(900):
                    connection.call("Post", {"server": f"server{number}", "text": f"{number} {1000 * 'x'}"})
                bystander.finish("a journal that does not read")
            statusctl("post", "server0", "the last line")
        finally:
            os.kill(journald, signal.SIGCONT)
        # The order of the two is up to the journal, which may begin to read between them.
        for text in ("older messages were lost", "server0: the last line"):
            eventually(lambda: any(text in entry["MESSAGE"] for entry in journal(f"_PID={main_process()}")), text)


@test("statusctl, run by any user, leaves nothing in the journal")
def silent_client():
    def entries():
        done("journalctl", "--sync")
        return run("journalctl", "-q", "--no-pager", "-o", "cat", "_COMM=statusctl").out

    # Services of other tests have run it, too.
    before = entries()
    with service():
        for number in range(5):
            statusctl("post", "db", str(number))
            equal(as_user("/usr/bin/statusctl", "list").status, 0)
        equal(entries(), before)


@test("systemctl reload returns when the new configuration is in force")
def reload_waits():
    with service(configuration=TWO):
        for number in range(20):
            CONFIGURATION.write_text(f"servers: {{ db: {{ push: true }}, new{number}: {{ push: true }} }}\n")
            systemctl("reload", "statusd")
            contains(statusctl("list"), f"new{number}", "db")
        equal((show("ActiveState"), show("NRestarts")), ("active", "0"))


@test("systemctl reload fails on an invalid file, the journal names file and line, and the daemon continues")
def reload_fails():
    with service(configuration=TWO):
        statusctl("post", "db", "Signed In")
        process = main_process()
        CONFIGURATION.write_text("servers:\n  db: { push: [\n")
        assert run("systemctl", "reload", "statusd").status != 0, "reload of a bad file succeeded"
        equal((show("ActiveState"), main_process()), ("active", process))
        contains(statusctl("status", "db"), "Signed In")
        done("journalctl", "--sync")
        equal(log().count(f"{CONFIGURATION}:"), 1, "how often the journal names the file")
        refusal = journal("MESSAGE_ID=0cf1a9e0e3e04b4b9d2c8dbe6c0b5a08")[-1]
        equal((refusal.get("STATUSD_CONFIG_FILE"), refusal.get("STATUSD_CONFIG_LINE")), (str(CONFIGURATION), "3"))
        CONFIGURATION.write_text("servers: { db: { push: true }, web: { pusch: true } }\n")
        stamp = time.time()
        assert run("systemctl", "reload", "statusd").status != 0, "reload of a file with an error succeeded"
        done("journalctl", "--sync")
        equal(done("journalctl", "--no-pager", "-o", "cat", "-u", "statusd", "--since", f"@{stamp:.6f}").count("pusch"), 1)
        CONFIGURATION.write_text(TWO)
        systemctl("reload", "statusd")


@test("Type=notify-reload in a drop-in works if systemd supports it", when=systemd_version() >= 253)
def notify_reload():
    drop_in = "[Service]\nType=notify-reload\nExecReload=\n"
    with service(configuration=TWO, drop_in=drop_in):
        CONFIGURATION.write_text("servers: { db: { push: true }, third: { push: true } }\n")
        systemctl("reload", "statusd")
        contains(statusctl("list"), "third")


@test("the watchdog kills a daemon that hangs, and it starts again")
def watchdog():
    with service(drop_in="[Service]\nWatchdogSec=2s\nRestartSec=100ms\n"):
        before = main_process()
        # A daemon that does not hang sends keep-alives: twice the timeout passes without a restart.
        stamp = show("WatchdogTimestampMonotonic")
        eventually(lambda: int(show("WatchdogTimestampMonotonic")) > int(stamp) + 4_000_000, "keep-alives")
        equal((main_process(), show("NRestarts")), (before, "0"))
        os.kill(before, signal.SIGSTOP)
        restarted(before)
        statusctl("list")
        contains(log(), "atchdog")


@test("after kill -9 the daemon restarts, and clients find the new one")
def killed():
    with service(drop_in="[Service]\nRestartSec=100ms\n"):
        before = main_process()
        os.kill(before, signal.SIGKILL)
        statusctl("list")
        restarted(before)
        equal(show("NRestarts"), "1")


@test("an invalid configuration at the start ends with status 78 and is not retried")
def wrong_configuration():
    with service(start=(), drop_in="[Service]\nExecStart=\nExecStart=/usr/bin/statusd --config /nonexistent.yaml\n"):
        assert run("systemctl", "start", "statusd.service").status != 0
        equal((show("ActiveState"), show("ExecMainStatus"), show("NRestarts")), ("failed", "78", "0"))


@test("a stopped daemon ends with success, says that it is stopping, and leaves no notify socket")
def stop():
    with service(configuration="servers: { web: { notify: true } }\n"):
        assert os.path.exists("/run/statusd/notify/web")
        systemctl("stop", "statusd.service")
        equal((show("ActiveState"), show("Result"), show("ExecMainStatus")), ("inactive", "success", "0"))
        assert not os.path.exists("/run/statusd/notify/web")
        equal(show("StatusText"), "")


@test("users without permission for the control socket cannot reach the daemon through another one either")
def socket_mode():
    def listed(address, groups=()):
        return as_user("/usr/bin/statusctl", "list", "--address", f"unix:{address}", groups=groups).status

    group = grp.getgrnam("statusd").gr_gid
    with service(start=(), configuration=TWO):
        drop_in = DROP_INS["statusd.socket"]
        drop_in.mkdir(exist_ok=True)
        (drop_in / "test.conf").write_text("[Socket]\nSocketMode=0660\nSocketGroup=statusd\n")
        systemctl("daemon-reload")
        systemctl("start", "statusd.socket", "statusd.service")
        for address in (SOCKET, SOCKET + ".live"):
            equal(listed(address), 77, address)
            equal(listed(address, [group]), 0, address)
        statusctl("list")


@test("a server that follows the daemon's own unit does not show the daemon's text about that server")
def own_unit():
    with service(configuration="select: me\nservers: { me: { unit: statusd.service } }\n"):
        statusctl("wait", "me", "--level", "ok", "--timeout", "10s")
        eventually(lambda: show("StatusText") == "me: active (running)", "its own status, once")
        settled = [entry["MESSAGE"] for entry in journal("SERVER=me")]
        assert len(settled) < 6, settled


def plugins_run(count):
    """Whether exactly this number of processes run, or are about to run, `sleep 60`."""
    return len(run("pgrep", "-f", "sleep 60").out.split()) == count


@test("stopping the daemon ends running plugins, even stubborn ones, within seconds, and logs no alarm")
def stop_with_plugins():
    checks = ("servers:\n  polite: { exec: [/bin/sleep, '60'], timeout: 50s }\n"
              "  stubborn: { exec: [/bin/sh, -c, \"trap '' TERM; sleep 60 & wait; sleep 60\"], timeout: 50s }\n")
    with service(configuration=checks):
        eventually(lambda: plugins_run(3), "both plugins, one of which is two processes")
        stamp = time.monotonic()
        systemctl("stop", "statusd.service")
        took = time.monotonic() - stamp
        print(f"     stop took {took:.1f} s", flush=True)
        equal((show("ActiveState"), show("Result")), ("inactive", "success"))
        assert took < 3.5, f"stop took {took:.1f} s"
        eventually(lambda: plugins_run(0), "no plugin left")
        alarms = [entry["MESSAGE"] for server in ("polite", "stubborn") for entry in journal(f"SERVER={server}")
                  if int(entry["PRIORITY"]) <= 4]
        equal(alarms, [])


@test("stopping the daemon ends its HTTP processes, so the service manager finds none to kill")
def stop_with_requests():
    with listener() as hanging, web() as working, service(configuration=(
            f"servers:\n  hanging: {{ http: {{ url: 'http://127.0.0.1:{hanging}/' }}, timeout: 50s }}\n"
            f"  working: {{ http: {{ url: 'http://127.0.0.1:{working.port}/' }} }}\n")):
        statusctl("wait", "working", "--level", "ok", "--timeout", "10s")
        stamp = time.time()
        systemctl("stop", "statusd.service")
        lines = done("journalctl", "--no-pager", "-o", "cat", "-u", "statusd", "--since", f"@{stamp:.6f}")
        contains(lines, "statusd is stopping")
        assert "Killing" not in lines, lines


@test("a watch continues over systemctl restart")
def watch_over_restart():
    with service(configuration=TWO):
        statusctl("post", "db", "before")
        with Follower("/usr/bin/statusctl", "watch", "db", env=environment()) as lines:
            lines.until("before")
            systemctl("restart", "statusd.service")
            statusctl("post", "db", "after")
            lines.until("after")


@test("watching and waiting clients do not start a stopped daemon; once it is started again, they continue")
def stays_stopped():
    with service(configuration=TWO):
        daemon = Service()
        with connect() as connection:
            connection.call("Post", {"server": "db", "text": "before"})
            one_client = daemon.descriptors()
        with Follower("/usr/bin/statusctl", "watch", "db", env=environment()) as lines, \
                Follower("/usr/bin/statusctl", "wait", "db", "--text", "after", env=environment()) as waiting:
            lines.until("before")
            # A client that connects for the first time may start the daemon.
            eventually(lambda: daemon.descriptors() > one_client, "two connections")
            systemctl("stop", "statusd.service")
            eventually(lambda: lines.errors, "one sentence about the daemon that went away")
            invocation = show("InvocationID")
            time.sleep(3)
            equal((show("ActiveState"), show("InvocationID")), ("inactive", invocation))
            systemctl("start", "statusd.service")
            statusctl("post", "db", "after")
            lines.until("after")
            equal(waiting.wait(), 0, "exit status of wait")


@test("restarting the socket's unit restarts a reachable daemon; stopping it stops the daemon")
def socket_unit():
    with service():
        for _ in range(8):
            before = main_process()
            systemctl("restart", "statusd.socket")
            restarted(before)
            statusctl("list")
        # statusctl's advice works if the sockets' paths are gone.
        os.unlink(SOCKET)
        contains(run("/usr/bin/statusctl", "list").err, "systemctl restart statusd.socket statusd")
        systemctl("restart", "statusd.socket", "statusd")
        statusctl("list")
        systemctl("restart", "statusd-*")
        statusctl("list")
        for unit in ("statusd.socket", "statusd-executor.socket", "statusd.service"):
            equal(show("ActiveState", unit), "active", unit)
        systemctl("stop", "statusd.socket")
        equal(show("ActiveState"), "inactive")


@test("a daemon that the watch itself started, through the socket, stays stopped, too")
def stays_stopped_for_its_starter():
    with service(start=("statusd.socket",), configuration=TWO):
        with Follower("/usr/bin/statusctl", "watch", "db", env=environment()) as lines:
            lines.next()
            systemctl("stop", "statusd.service")
            eventually(lambda: lines.errors, "one sentence about the daemon that went away")
            time.sleep(3)
            equal(show("ActiveState"), "inactive")


def count_starts():
    """How often the service manager has started the daemon."""
    return sum(entry["MESSAGE"].startswith("Starting statusd.service") for entry in journal())


@test("an invalid configuration is reported to clients, who do not exhaust the starts: once corrected, the daemon starts at once")
def broken_with_clients():
    with service(configuration=TWO):
        with Follower("/usr/bin/statusctl", "watch", env=environment()) as lines:
            lines.next()
            CONFIGURATION.write_text("servers:\n  db: { push: [\n")
            before, began = count_starts(), time.monotonic()
            assert run("systemctl", "restart", "statusd.service").status != 0
            for _ in range(200):
                told = run("/usr/bin/statusctl", "list")
                equal(told.status, 69)
                contains(told.err, "the daemon cannot start", f"{CONFIGURATION}:")
            starts = count_starts() - before
            equal(show("ActiveState", "statusd.socket"), "active")
            assert starts < 3 + (time.monotonic() - began) / 2, f"{starts} starts for 200 clients"
            # A start may be under way: it succeeds, too.
            CONFIGURATION.write_text(TWO)
            systemctl("start", "statusd.service")
            statusctl("post", "db", "mended")
            statusctl("select", "db")
            lines.until("mended")


@test("a failed start that reports the reason to clients ends at once when it is stopped")
def stopped_failed_start():
    with service(start=("statusd.socket",), configuration="servers: wrong\n"):
        contains(run("/usr/bin/statusctl", "list").err, "the daemon cannot start")
        systemctl("stop", "statusd.socket", "statusd.service")
        # Ending by itself, it would return 78.
        equal((show("ExecMainCode"), show("ExecMainStatus"), show("Result")), ("1", "0", "success"))


@test("an invalid command line is reported to clients, and the service manager does not retry it")
def wrong_command_line():
    with service(start=("statusd.socket",), drop_in="[Service]\nExecStart=\nExecStart=/usr/bin/statusd --confg /etc/x.yaml\n"):
        for _ in range(20):
            told = run("/usr/bin/statusctl", "list")
            equal(told.status, 69)
            contains(told.err, "the daemon cannot start", "--confg", "systemctl cat statusd")
        eventually(lambda: show("ActiveState") == "failed")
        equal((show("ExecMainStatus"), show("NRestarts"), show("ActiveState", "statusd.socket")), ("64", "0", "active"))


@test("systemctl status shows errors in the configuration until they are corrected, because servers may be missing")
def errors_in_status():
    with service(start=(), configuration=TWO):
        drop_in = CONFIGURATION.parent / "conf.d" / "more.yaml"
        drop_in.parent.mkdir(exist_ok=True)
        drop_in.write_text("servers: { more: { push: maybe } }\n")
        systemctl("start", "statusd.service")
        equal(show("StatusText"), "no server selected (1 error in the configuration; run “statusctl verify”)")
        statusctl("post", "db", "well")
        statusctl("select", "db")
        equal(show("StatusText"), "db: well (1 error in the configuration; run “statusctl verify”)")
        drop_in.unlink()
        systemctl("reload", "statusd.service")
        equal(show("StatusText"), "db: well")
        drop_in.parent.rmdir()


@test("verify finds what the services' users cannot read or run; run by others, it says that it does not know")
def verified_as_the_services():
    def verified(*files, command=run):
        result = command("/usr/bin/statusctl", "verify", *files)
        return result.status, result.err

    def stranger(*command):
        return as_user("env", "-u", "HOME", *command)

    plugin, draft = pathlib.Path("/root/statusd-test-plugin"), pathlib.Path("/root/statusd-test-draft.yaml")
    plugin.write_text("#!/bin/sh\necho well\n")
    plugin.chmod(0o755)
    draft.write_text("servers: { db: { push: true } }\n")
    draft.chmod(0o600)
    with service(start=(), configuration=f"servers: {{ plugin: {{ exec: [{plugin}] }} }}\n"):
        CONFIGURATION.chmod(0o640)
        unreadable = f"error: {CONFIGURATION}: permission denied for the user statusd; make it readable for that user"
        for files in ((), (CONFIGURATION,), (CONFIGURATION.parent,)):
            equal(verified(*files), (78, f"statusctl: {unreadable}\n"))
        unknown = f"statusctl: error: {CONFIGURATION}: permission denied; run “sudo statusctl verify”\n"
        equal(verified(command=stranger), (77, unknown))
        shutil.chown(CONFIGURATION, group="statusd")
        not_run = f"server plugin: cannot run {plugin} as the user statusd-executor: Permission denied"
        equal(verified(), (0, f"statusctl: warning: {CONFIGURATION}:1: {not_run}\n"))
        CONFIGURATION.chmod(0o644)
        equal(verified(command=stranger), (0, ""))
        equal(verified(draft), (0, ""))
        equal(verified(draft, command=stranger), (77, f"statusctl: error: {draft}: permission denied\n"))
        # Files that the services' sandboxes hide are visible to their users elsewhere.
        hidden = pathlib.Path("/var/tmp/statusd-test")
        hidden.mkdir()
        (hidden / "plugin").write_text("#!/bin/sh\n")
        (hidden / "plugin").chmod(0o755)
        (hidden / "more.yaml").write_text(f"servers: {{ hidden: {{ exec: [{hidden}/plugin] }} }}\n")
        link = CONFIGURATION.parent / "conf.d" / "more.yaml"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(hidden / "more.yaml")
        status, text = verified()
        equal(status, 78)
        contains(text, f"error: {link}: the daemon cannot read it: PrivateTmp= of statusd.service hides /var/tmp",
                 f"cannot run {hidden}/plugin: PrivateTmp= of statusd-executor.service hides /var/tmp")
        state = pathlib.Path("/var/lib/statusd")
        state.mkdir(exist_ok=True)
        state.chmod(0o755)  # otherwise its mode would be the reason
        for folder, setting in ("/dev/shm", "TemporaryFileSystem="), (state, "InaccessiblePaths="):
            other = pathlib.Path(folder, "plugin")
            shutil.copy(hidden / "plugin", other)
            (hidden / "more.yaml").write_text(f"servers: {{ hidden: {{ exec: [{other}] }} }}\n")
            contains(verified()[1], f"cannot run {other}: {setting} of statusd-executor.service hides {folder}")
            other.unlink()
        (hidden / "more.yaml").write_text("servers: { reboot: { exec: [/bin/sh, -c, '[ -e /run/reboot-required ] && exit 1'] } }\n")
        contains(verified()[1], "the plugin does not see the host's /run/reboot-required: TemporaryFileSystem= of statusd-executor.service hides /run")
        link.unlink()
        link.parent.rmdir()
        shutil.rmtree(hidden)
        CONFIGURATION.parent.chmod(0o700)
        closed = f"{CONFIGURATION.parent}: cannot read it: Permission denied; make it readable for the user that statusd runs as"
        equal(verified(), (78, f"statusctl: error: {CONFIGURATION.parent}: permission denied for the user statusd; make it readable for that user\n"))
        assert run("systemctl", "start", "statusd.service").status != 0
        eventually(lambda: closed in log(), "the reason in the journal")
    plugin.unlink()
    draft.unlink()


@test("calls and waits that arrive while the daemon hangs are answered by its successor", limit=60)
def successor_answers():
    with service(configuration=TWO):
        systemctl("kill", "--kill-whom=main", "--signal=STOP", "statusd.service")
        commands = [subprocess.Popen(["/usr/bin/statusctl", *arguments]) for arguments in
                    (("wait", "db"), ("wait", "db", "--timeout", "30s"), ("select", "web"), ("post", "db", "well"))]
        time.sleep(0.5)
        systemctl("kill", "--kill-whom=main", "--signal=KILL", "statusd.service")
        equal([command.wait(20) for command in commands], [0] * len(commands), "exit statuses")


@test("posts and selections do not fail while the service is restarted again and again", limit=120)
def restarts_fail_nobody():
    def repeat(number):
        while not is_over.is_set():
            for arguments in (("post", "db", f"text {number}"), ("select", ("db", "web")[number % 2]), ("list",)):
                result = run("/usr/bin/statusctl", *arguments)
                calls.append(result.status)
                if result.status:
                    failures.append(f"{result.command}: {result.status} {result.err}")

    is_over, calls, failures = threading.Event(), [], []
    with service(configuration=TWO):
        threads = [threading.Thread(target=repeat, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                systemctl("restart", "statusd.service")
                time.sleep(0.1)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
    print(f"     {len(calls)} commands", flush=True)
    equal(failures[:3], [])


@test("a daemon that root runs by hand and the service cannot share a directory, and neither removes the other's sockets")
def by_hand():
    with service(start=()):
        shutil.rmtree("/run/statusd", ignore_errors=True)
        with Follower("/usr/bin/statusd", env=environment()) as by_hand:
            eventually(lambda: run("/usr/bin/statusctl", "list").status == 0, "the daemon by hand")
            systemctl("start", "--no-block", "statusd.service")
            eventually(lambda: "another statusd uses the directory /run/statusd" in log(), "the service's complaint")
            assert by_hand.process.poll() is None
            by_hand.end(signal.SIGTERM)
        eventually(lambda: show("ActiveState") == "active", "the service", patience=20)
        statusctl("list")
        systemctl("stop", "statusd.socket", "statusd.service")
        shutil.rmtree("/run/statusd/notify")
        refused = run("/usr/bin/statusd")
        equal(refused.status, 1)
        contains(refused.err + refused.out, "the directory /run/statusd belongs to user statusd; ")
        assert not os.path.exists("/run/statusd/notify"), "root has made a directory that the service cannot use"


@test("if the runtime directory is removed, the daemon says how to get the sockets back, and that works")
def removed_directory():
    with service(configuration="servers: { sh: { exec: [/bin/echo, fine] } }\n"):
        shutil.rmtree("/run/statusd")
        systemctl("restart", "--no-block", "statusd.service")
        advice = "systemctl restart statusd.socket statusd"
        eventually(lambda: advice in log(), "the advice in the journal")
        done(*advice.split())
        statusctl("wait", "sh", "--text", "fine", "--timeout", "10s")
