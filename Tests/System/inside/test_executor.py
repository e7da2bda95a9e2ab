# SPDX-License-Identifier: Apache-2.0
"""Plugins in their own service: their rights, and how they end."""

import os
import pathlib
import pwd
import shutil
import signal
import time

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .unit import CONFIGURATION, log, main_process, service, show, statusctl, systemctl

SCRIPT = pathlib.Path("/etc/statusd-probe")


def plugin(text):
    """A plugin that everybody may run, and the entry of a server that runs it."""
    SCRIPT.write_text("#!/bin/sh\n" + text)
    SCRIPT.chmod(0o755)
    return f"defaults: {{ interval: 1h }}\nservers:\n  probe: {{ exec: [{SCRIPT}], timeout: 30s }}\n  db: {{ push: true }}\n"


def found(part):
    """Waits for a text from the plugin that contains this part."""
    def has_part():
        out = run("/usr/bin/statusctl", "status", "probe").out
        return part in out and out

    try:
        return eventually(has_part, f"a text with “{part}”")
    except AssertionError as error:
        raise AssertionError(f"{error}: {run('/usr/bin/statusctl', 'status', 'probe').out}{log()}") from None


@test("a plugin runs as another user and cannot reach the daemon's sockets, state or configuration, or signal it")
def out_of_reach():
    # The plugin prints a word for each forbidden action that succeeds.
    configuration = plugin("""
[ "$(id -un)" = statusd-executor ] || holes="$holes user"
ls /run/statusd/* >/dev/null 2>&1 && holes="$holes runtime"
ls /var/lib/statusd >/dev/null 2>&1 && holes="$holes state"
statusctl post db forged 2>/dev/null && holes="$holes post"
NOTIFY_SOCKET=/run/statusd/notify/db systemd-notify --status=forged 2>/dev/null && holes="$holes notify"
touch /etc/statusd/conf.d /etc/statusd/statusd.yaml 2>/dev/null && holes="$holes configuration"
kill -0 "$(cat /etc/statusd-test-pid)" 2>/dev/null && holes="$holes signal"
kill -0 "$(cat /etc/statusd-test-pid)" 2>&1 | grep -q permitted || holes="$holes no-daemon"
busctl list >/dev/null 2>&1 && holes="$holes bus"
ls /run/user >/dev/null 2>&1 && holes="$holes user-managers"
cat /proc/$PPID/maps >/dev/null 2>&1 && holes="$holes worker"
cat /usr/bin/statusd >/dev/null 2>&1 && holes="$holes program"
echo "holes:${holes:- none}"
""")
    with service(configuration=configuration):
        pathlib.Path("/etc/statusd-test-pid").write_text(str(main_process()))
        contains(statusctl("refresh", "probe"), "holes: none")
        equal(os.stat("/etc/statusd").st_uid, 0, "owner of the configuration directory")


@test("files that a plugin leaves in shared memory are private to its service, and limited in size")
def shared_memory():
    with service(configuration=plugin("head -c 100M /dev/zero 2>&1 > /dev/shm/statusd-test\nls /dev/shm/statusd-test")):
        found("No space left on device")
        assert not os.path.exists("/dev/shm/statusd-test")


@test("a plugin has its own /run, /dev/shm, /dev and /tmp: verify and reload warn of such arguments; BindReadOnlyPaths= shows a folder")
def own_folders():
    names = {"/run/statusd-plugin/flag": "TemporaryFileSystem=", "/dev/shm/statusd-plugin": "TemporaryFileSystem=", "/tmp/statusd-plugin": "PrivateTmp=", "/dev/console": "PrivateDevices="}
    pathlib.Path("/run/statusd-plugin").mkdir()
    for name in list(names)[:3]:
        pathlib.Path(name).touch()
    configuration = "defaults: { interval: 1h }\nservers:\n" + "".join(
        f"  s{number}: {{ exec: [/bin/sh, -c, '[ -e {name} ] && echo seen || echo unseen'] }}\n" for number, name in enumerate(names))
    try:
        with service(configuration=configuration):
            warned = run("/usr/bin/statusctl", "verify")
            reloaded = run("/usr/bin/statusctl", "reload")
            for number, (name, setting) in enumerate(names.items()):
                contains(statusctl("refresh", f"s{number}"), "unseen")
                for result in warned, reloaded:
                    equal(result.status, 0, result.err)
                    contains(result.err, f"server s{number}: the plugin does not see the host's {name}: {setting} of statusd-executor.service hides ", "; follow it with “file”, or see “Plugins” in statusd(8)")
            # A daemon that was started by hand runs plugins without a sandbox.
            draft = pathlib.Path("/etc/statusd-draft.yaml")
            draft.write_text(configuration)
            equal(run("/usr/bin/statusctl", "verify", draft).err, "")
            draft.unlink()
        with service(configuration=configuration, executor_drop_in="[Service]\nBindReadOnlyPaths=/run/statusd-plugin\n"):
            contains(statusctl("refresh", "s0"), ": seen")
            contains(statusctl("refresh", "s1"), "unseen")
    finally:
        shutil.rmtree("/run/statusd-plugin")
        os.unlink("/dev/shm/statusd-plugin")
        os.unlink("/tmp/statusd-plugin")


@test("the daemon itself cannot write its configuration either")
def read_only_configuration():
    with service(configuration="servers: { db: { push: true } }\n"):
        user = pwd.getpwnam("statusd")
        equal(os.stat(CONFIGURATION.parent).st_uid, 0)

        def as_daemon(*command):
            return run("nsenter", "-t", str(main_process()), "-m", "setpriv", "--reuid", str(user.pw_uid), "--regid",
                       str(user.pw_gid), "--clear-groups", *command)

        assert as_daemon("touch", "/etc/statusd/statusd.yaml").status != 0, "the file was written"
        # The daemon reads nothing in the directories that it may write.
        drop_in = "servers: { forged: { push: true } }"
        for folder, may in ("/run/statusd", True), ("/run/statusd.d", False), ("/var/lib/statusd", True):
            written = as_daemon("sh", "-c", f"mkdir -p {folder}/conf.d && echo '{drop_in}' > {folder}/conf.d/z.yaml")
            equal(written.status == 0, may, folder)
        statusctl("reload")
        assert "forged" not in statusctl("list"), "the daemon wrote its own configuration"


@test("an attacker in control of the daemon can write only to its own directories, and not to shared memory")
def writable():
    with service():
        for folder, may in ("/run/statusd", True), ("/var/lib/statusd", True), ("/run", False), ("/run/lock", False), ("/run/systemd/report", False), ("/dev/shm", False), \
                ("/etc", False), ("/usr", False), ("/var/lib", False):
            written = run("nsenter", "-t", str(main_process()), "-m", "sh", "-c", f"touch {folder}/statusd-test && rm {folder}/statusd-test")
            equal(written.status == 0, may, f"{folder}, even as root in its namespace")


@test("a daemon that is killed leaves no plugin behind, and its successor runs them again")
def killed():
    with service(configuration=plugin("setsid sleep 86406 &\nsleep 86406\n")):
        eventually(lambda: len(run("pgrep", "-f", "sleep 86406").out.split()) == 2, "the plugin")
        first = run("pgrep", "-f", "sleep 86406").out.split()
        os.kill(main_process(), signal.SIGKILL)
        eventually(lambda: not any(os.path.exists(f"/proc/{process}") for process in first), "no plugin left")
        eventually(lambda: len(run("pgrep", "-f", "sleep 86406").out.split()) == 2, "the plugin again")


@test("a restart of the executor does not affect the next check")
def executor_restarts():
    with service(configuration=plugin("echo run as $PPID\n")):
        first = found("run as")
        systemctl("restart", "statusd-executor.service")
        contains(statusctl("refresh", "probe"), "probe: run as")
        assert found("run as") != first
        systemctl("stop", "statusd-executor.service")
        contains(statusctl("refresh", "probe"), "probe: run as")
        equal(show("ActiveState", "statusd-executor.service"), "active")


@test("without the executor's socket, checks fail with advice, and the daemon continues")
def no_socket():
    with service(configuration=plugin("echo well\n")):
        found("well")
        systemctl("stop", "statusd-executor.socket", "statusd-executor.service")
        result = eventually(lambda: (result := run("/usr/bin/statusctl", "refresh", "probe")).status and result, "a failed load")
        contains(result.err, "cannot run plugins", "systemctl status statusd-executor.socket")
        systemctl("start", "statusd-executor.socket")
        contains(statusctl("refresh", "probe"), "probe: well")


@test("a restart of the executor's socket unit does not affect the next check either")
def socket_unit():
    with service(configuration=plugin("echo well\n")):
        found("well")
        systemctl("restart", "statusd-executor.socket")
        contains(statusctl("refresh", "probe"), "probe: well")


@test("the daemon's user cannot replace a path that the service manager gives away, and has no home for units of its own")
def directories():
    as_daemon = ("setpriv", "--reuid=statusd", "--regid=statusd", "--clear-groups")
    with service(configuration=plugin("echo well\n")):
        socket = pathlib.Path(show("Listen", "statusd-executor.socket").split(" ")[0])
        equal(f"{socket.owner()}:{socket.group()}", "statusd:statusd")
        equal(socket.parent.owner(), "root")
        contains(run(*as_daemon, "mv", socket, f"{socket}.old").err, "Permission denied")
        contains(run(*as_daemon, "chmod", "777", socket.parent).err, "Operation not permitted")
        for user in ("statusd", "statusd-executor", "statusd-alerts"):
            assert not os.path.exists(pwd.getpwnam(user).pw_dir), user


def executor():
    """The process id of the running executor."""
    return int(eventually(lambda: (pid := show("MainPID", "statusd-executor.service")) != "0" and pid, "an executor"))


def settled(unit="statusd-executor.service"):
    """Whether an executor's service has only the executor and one or two workers, during a whole second: a single check
    may miss short-lived processes."""
    group = pathlib.Path(f"/sys/fs/cgroup{show('ControlGroup', unit)}/cgroup.procs")
    for _ in range(50):
        if group.exists() and len(group.read_text().split()) > 3:
            return False
        time.sleep(0.02)
    return True


@test("plugins still run after any number of daemon restarts")
def many_restarts():
    with service(configuration=plugin("echo run as $PPID\n")):
        for _ in range(12):
            systemctl("restart", "statusd.service")
            found("run as")
        equal(show("ActiveState", "statusd-executor.socket"), "active")


@test("a plugin that kills the executor or stops it disables no other check for long", limit=120)
def hostile_to_the_executor():
    configuration = plugin("echo well\n") + "  evil: { exec: [/etc/statusd-evil], timeout: 2s }\n"
    evil = pathlib.Path("/etc/statusd-evil")
    for attack in ("kill -9 $executor", "kill -STOP $executor"):
        evil.write_text("#!/bin/sh\necho not yet\n")
        evil.chmod(0o755)
        with service(configuration=configuration):
            found("well")
            evil.write_text(f"#!/bin/sh\nexecutor={executor()}\n{attack}\necho did it\n")
            run("/usr/bin/statusctl", "refresh", "evil")
            # The watchdog takes ten seconds to notice a stopped executor.
            eventually(lambda: "probe: well [ok]" in run("/usr/bin/statusctl", "refresh", "probe").out, f"a check after “{attack}”", patience=25)


@test("a plugin that forks endlessly is ended, with all of its processes", limit=60)
def hydra():
    script = pathlib.Path("/etc/statusd-hydra")
    script.write_text("""
import os, resource, sys, time
resource.setrlimit(resource.RLIMIT_NPROC, (400, 400))
def fork():
    # The first one may fail for a moment, and the attack must begin.
    while True:
        try:
            return os.fork()
        except OSError:
            time.sleep(0.1)
if fork():
    time.sleep(0.5)
    print("done")
    sys.exit()
while True:
    try:
        os.fork()
        os.setsid()
    except OSError:
        time.sleep(0.01)
""")
    with service(configuration=plugin(f"exec /usr/bin/python3 {script}\n")):
        found("done")
        eventually(settled, "no process of the plugin", patience=8)
