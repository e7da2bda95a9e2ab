# SPDX-License-Identifier: Apache-2.0
"""Receivers of alerts in their own service: mail, systemd units, their rights, how they end, and what restarts do."""

import contextlib
import json
import mailbox
import os
import pathlib
import re
import shutil
import socket

from harness.daemon import run
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test

from .test_executor import settled
from .unit import PROJECT, connect, journal, main_process, service, statusctl, systemctl, systemd_version

PROGRAM = pathlib.Path("/etc/statusd-receiver")
TOLD = pathlib.Path("/var/lib/statusd-told")
MAILBOX = pathlib.Path("/var/mail/root")
WRITABLE = f"[Service]\nReadWritePaths={TOLD}\n"
FAILED, DELIVERED = "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a12", "0cf1a9e0e3e04b4b9d2c8dbe6c0b5a13"
PATIENCE = 40
"""The daemon waits for 10 s after a start, and again after a failed delivery."""
SERVERS = "servers: { db: { push: true }, marker: { push: true } }\n"


def script(text):
    """A receiver that everybody may run; returns its path."""
    PROGRAM.write_text("#!/bin/sh\n" + text)
    PROGRAM.chmod(0o755)
    return PROGRAM


KEEP = f"file={TOLD}/$(date +%s.%N); cat >$file.new; mv $file.new $file.json\n"
"""The lines of a receiver that keep what it is told."""


@contextlib.contextmanager
def keeping(receiver, options="batch: 0s", servers=SERVERS):
    """The service with one receiver, which may write to TOLD."""
    shutil.rmtree(TOLD, ignore_errors=True)
    TOLD.mkdir()
    TOLD.chmod(0o777)
    try:
        with service(configuration=f"alerts: {{ keep: {{ run: [{script(receiver)}], {options} }} }}\n{servers}", alerts_drop_in=WRITABLE):
            yield
    finally:
        shutil.rmtree(TOLD)


def told(server):
    """What the receiver was told of a server, the oldest first: pairs of level and id."""
    messages = [json.loads(path.read_text()) for path in sorted(TOLD.glob("*.json"))]
    return [(alert["level"], alert["id"]) for message in messages for alert in message["alerts"] if alert["server"] == server]


def is_told(server, level, times=1):
    """Waits until the receiver was told a level of a server; returns all that it was told of it."""
    return eventually(lambda: [each for each, _ in told(server)].count(level) >= times and told(server), f"{server} is told to be {level}", PATIENCE)


def after_a_marker(server):
    """What the receiver was told of a server, after it was told of a later problem."""
    statusctl("post", "marker", "later", "--level", "critical")
    is_told("marker", "critical")
    return told(server)


def warned(*parts):
    """Waits for a message in the journal that a receiver cannot be told, with these parts."""
    def has_parts():
        texts = [entry["MESSAGE"] for entry in journal(f"MESSAGE_ID={FAILED}", f"_PID={main_process()}")]
        contains("\n".join(texts), *parts)
        return texts

    return eventually(has_parts, "a warning", PATIENCE)


# MARK: Mail


@contextlib.contextmanager
def mail_server():
    """Postfix, which delivers to local mailboxes only."""
    if not os.path.exists("/usr/sbin/postconf"):
        raise Skip("the mail server is not Postfix")
    pathlib.Path("/etc/postfix/main.cf").write_text(
        "compatibility_level = 3.6\ninet_interfaces = loopback-only\nmydestination = localhost\nmyorigin = localhost\nalias_maps =\n"
        "default_transport = error:only local mail\nmail_spool_directory = /var/mail\n")
    # Mail that programs of this machine have sent while no mail server ran.
    for path in pathlib.Path("/var/spool/postfix/maildrop").glob("*"):
        path.unlink()
    MAILBOX.unlink(missing_ok=True)
    systemctl("restart", "postfix")
    try:
        yield
    finally:
        systemctl("stop", "postfix")
        MAILBOX.unlink(missing_ok=True)


def mails(count):
    """Waits for this many mails to root."""
    return eventually(lambda: len(found := list(mailbox.mbox(MAILBOX, create=False)) if MAILBOX.exists() else []) >= count and found, f"{count} mails", PATIENCE)


def documented_hardening():
    """The settings of statusd-security(7) for systemd 257, which forbid sendmail with systemd 252."""
    if systemd_version() < 257:
        return None
    text = (PROJECT / "packaging" / "man" / "statusd-security.7.md").read_text()
    return re.search(r"(?ms)^```\n(\[Service\]\nLockPersonality=.*?)^```$", text)[1]


@test("a problem and its recovery arrive as mails to root, in one thread, through the host's mail server", limit=120)
def by_mail():
    with mail_server(), service(configuration="alerts: { mail: { run: [/usr/lib/statusd/alerts/mail, root], batch: 0s } }\n" + SERVERS,
                                alerts_drop_in=documented_hardening()):
        statusctl("post", "db", "disk full", "--level", "critical")
        mails(1)
        statusctl("post", "db", "well")
        problem, recovery = mails(2)
        contains(problem["Subject"], "db", "critical")
        contains(problem.get_payload(), "critical  db: disk full")
        contains(recovery["Subject"], "db", "ok")
        contains(recovery.get_payload(), "db: well")
        contains(problem["From"], "statusd-alerts@", "Alerts of statusd")
        assert problem["References"] and problem["References"] == recovery["References"], (problem["References"], recovery["References"])
        equal(journal(f"MESSAGE_ID={FAILED}", f"_PID={main_process()}"), [])


@test("forty servers that fail in the same second are one mail with forty lines", limit=120, once=True)
def one_mail():
    names = [f"server{number:02}" for number in range(40)]
    servers = "servers: { marker: { push: true }, " + ", ".join(f"{name}: {{ push: true }}" for name in names) + " }\n"
    with mail_server(), service(configuration="alerts: { mail: { run: [/usr/lib/statusd/alerts/mail, root], batch: 3s } }\n" + servers):
        with connect() as connection:
            for name in names:
                connection.call("Post", {"server": name, "text": "unreachable", "level": "critical"})
        mails(1)
        statusctl("post", "marker", "later", "--level", "critical")
        first, second = mails(2)
        equal(re.findall(r"(?m)^critical +(\S+): unreachable$", first.get_payload()), names)
        contains(second["Subject"], "marker")


# MARK: Units


def documented_rule():
    """The polkit rule of statusd(8)."""
    text = (PROJECT / "packaging" / "man" / "statusd.8.md").read_text()
    return re.search(r"(?ms)^polkit\.addRule\(.*?^\}\);$", text)[0]


@test("a receiver starts a unit with the documented polkit rule; without it, the journal has the reason", limit=120)
def unit():
    rule, started = pathlib.Path("/etc/polkit-1/rules.d/60-statusd-alerts.rules"), pathlib.Path("/run/statusd-test-started")
    units = {name: pathlib.Path(f"/run/systemd/system/{name}.service") for name in ("on-alert", "other")}
    for path in units.values():
        path.write_text(f"[Service]\nType=oneshot\nExecStart=/bin/touch {started}\n")
    receivers = "alerts:\n" + "".join(f"  {name}: {{ run: [/usr/lib/statusd/alerts/unit, {name}.service], batch: 0s }}\n" for name in units)
    try:
        with service(configuration=receivers + SERVERS):
            statusctl("post", "db", "disk full", "--level", "critical")
            warned("cannot tell on-alert: ", "cannot tell other: ", "on-alert.service", "uthentication required")
            assert not started.exists()
            rule.parent.mkdir(exist_ok=True)
            rule.write_text(documented_rule())
            rule.chmod(0o644)
            eventually(started.exists, "the unit has run", PATIENCE)
            # The rule permits no other unit.
            eventually(lambda: journal(f"MESSAGE_ID={DELIVERED}", f"_PID={main_process()}"), "a message that it works again")
            equal([entry["MESSAGE"].split()[0] for entry in journal(f"MESSAGE_ID={DELIVERED}", f"_PID={main_process()}")], ["on-alert"])
    finally:
        for path in (rule, started, *units.values()):
            path.unlink(missing_ok=True)


# MARK: Silences


@test("the example of a recurring silence is a valid timer, and its service silences the servers that it names")
def recurring_silence():
    names = ("statusd-maintenance.service", "statusd-maintenance.timer")
    copies = [shutil.copy(PROJECT / "packaging" / "examples" / name, "/run/systemd/system") for name in names]
    try:
        with service(configuration="servers: { db: { push: true }, web: { push: true }, other: { push: true } }\n"):
            for path in copies:
                result = run("systemd-analyze", "verify", "--man=no", path)
                equal((result.status, "maintenance" in result.out + result.err), (0, False), result.err)
            systemctl("start", *names)
            silences = statusctl("silence", "--list")
            equal(re.findall(r"(?m)^(\w+): until .*: weekly backup$", silences), ["db", "web"], silences)
            systemctl("stop", *names)
    finally:
        for path in copies:
            os.unlink(path)


# MARK: The sandbox


@test("a receiver runs as another user; it cannot reach sockets, state or configuration of the daemon, or signal it, or write elsewhere")
def out_of_reach():
    # The receiver prints a word for each forbidden action that succeeds.
    receiver = script("""
exec 2>/dev/null
[ "$(id -un)" = statusd-alerts ] || holes="$holes user"
[ -r /etc/statusd/statusd.yaml ] && holes="$holes configuration"
cat /etc/statusd/* >/dev/null && holes="$holes configuration"
ls /var/lib/statusd >/dev/null && holes="$holes state"
ls /run/statusd /run/statusd-executor /run/statusd-alerts >/dev/null && holes="$holes runtime"
statusctl list >/dev/null && holes="$holes list"
statusctl post db forged && holes="$holes post"
NOTIFY_SOCKET=/run/statusd/notify/db systemd-notify --status=forged && holes="$holes notify"
for socket in statusd/org.statusd.monitor statusd-executor/socket statusd-alerts/socket systemd/private; do
    python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('/run/$socket')" && holes="$holes $socket"
done
kill -0 "$(cat /etc/statusd-test-pid)" && holes="$holes signal"
ls /proc/"$(cat /etc/statusd-test-pid)" >/dev/null && holes="$holes processes"
for folder in / /etc /usr /run /var/lib /var/spool /var/spool/cron /sys/fs/cgroup; do
    touch $folder/statusd-test && holes="$holes $folder"
done
cat /proc/$PPID/maps >/dev/null && holes="$holes worker"
cat /usr/bin/statusd >/dev/null && holes="$holes program"
systemd-run --no-ask-password true && holes="$holes units"
systemctl stop --no-ask-password statusd && holes="$holes stop"
touch /tmp/mine /dev/shm/mine || holes="$holes own-folders"
busctl list >/dev/null || holes="$holes no-bus"
echo "holes:${holes:- none}"
exit 1
""")
    with service(configuration=f"alerts: {{ probe: {{ run: [{receiver}], batch: 0s }} }}\n{SERVERS}"):
        pathlib.Path("/etc/statusd-test-pid").write_text(str(main_process()))
        statusctl("post", "db", "disk full", "--level", "critical")
        equal(warned("holes:"), ["cannot tell probe: exit status 1: holes: none; it is tried again"])
        assert not os.path.exists("/tmp/mine") and not os.path.exists("/dev/shm/mine")
        # Without the sandbox, the same receiver finds holes.
        contains(run("setpriv", "--reuid=statusd-alerts", "--regid=statusd-alerts", "--clear-groups", receiver).out,
                 "configuration", "list", "statusd/org.statusd.monitor", "processes")
        for folder in ("/tmp", "/dev/shm"):
            os.unlink(f"{folder}/mine")


@test("a receiver gets the credentials that it names, which other receivers do not get")
def credentials():
    receiver = script('cat "${CREDENTIALS_DIRECTORY-/none}/token" >&2\nexit 1\n')
    secret = pathlib.Path("/etc/statusd-test-token")
    secret.write_text("sesame\n")
    secret.chmod(0o600)
    try:
        with service(configuration=f"alerts:\n  in: {{ run: [{receiver}], batch: 0s, credentials: [token] }}\n"
                                   f"  out: {{ run: [{receiver}], batch: 0s }}\n  absent: {{ run: [{receiver}], batch: 0s, credentials: [other] }}\n{SERVERS}",
                     alerts_drop_in=f"[Service]\nLoadCredential=token:{secret}\n"):
            statusctl("post", "db", "disk full", "--level", "critical")
            warned("cannot tell in: exit status 1: sesame;", "cannot tell out: exit status 1: cat: /none/token: No such file or directory;",
                   "cannot tell absent: ", "no credential “other”; add LoadCredential=other:")
    finally:
        secret.unlink()


@test("a receiver that hangs is ended with all its processes, and so are the processes that one leaves or forks endlessly", limit=120)
def endless():
    leaving = PROGRAM.with_name("statusd-receiver-leaving")
    leaving.write_text(f"#!/bin/sh\n{KEEP}setsid sleep 86408 >/dev/null 2>&1 &\n"
                       "setsid sh -c 'while :; do setsid sleep 86408 & sleep 0.01; done' >/dev/null 2>&1 &\nsleep 0.2\n")
    leaving.chmod(0o755)
    receiver = script("setsid sleep 86407 &\nsleep 86407\n")
    TOLD.mkdir()
    TOLD.chmod(0o777)
    try:
        with service(configuration=f"alerts:\n  hanging: {{ run: [{receiver}], batch: 0s, timeout: 2s }}\n  leaving: {{ run: [{leaving}], batch: 0s }}\n{SERVERS}",
                     alerts_drop_in=WRITABLE):
            statusctl("post", "db", "disk full", "--level", "critical")
            eventually(lambda: len(run("pgrep", "-f", "sleep 86407").out.split()) == 2, "the receiver", PATIENCE)
            warned("cannot tell hanging: timed out after 2s")
            is_told("db", "critical")
            eventually(lambda: settled("statusd-alerts.service"), "no process of a receiver")
            equal(run("pgrep", "-f", "sleep 8640[78]").out, "")
            equal(len(told("db")), 1)
    finally:
        leaving.unlink()
        shutil.rmtree(TOLD)


# MARK: Restarts


@test("while the service is masked, the journal says so; once it is unmasked, the receiver is told, once", limit=120)
def masked():
    with keeping(KEEP):
        systemctl("stop", "statusd-alerts.socket", "statusd-alerts.service")
        try:
            systemctl("mask", "--runtime", "statusd-alerts.socket", "statusd-alerts.service")
            statusctl("post", "db", "disk full", "--level", "critical")
            warned("cannot tell keep: ", "see “systemctl status statusd-alerts.socket”")
            equal(told("db"), [])
        finally:
            systemctl("unmask", "--runtime", "statusd-alerts.socket", "statusd-alerts.service")
        systemctl("restart", "statusd-alerts.socket")
        is_told("db", "critical")
        equal(len(after_a_marker("db")), 1)
        equal(len(journal(f"MESSAGE_ID={DELIVERED}", f"_PID={main_process()}")), 1)


@test("a problem is told once if statusd is restarted between the change and the delivery", limit=120, once=True)
def restarted_before_the_delivery():
    with keeping(KEEP, "batch: 5s"):
        statusctl("post", "db", "disk full", "--level", "critical")
        systemctl("restart", "statusd")
        equal(told("db"), [])
        is_told("db", "critical")
        equal(len(after_a_marker("db")), 1)


@test("if statusd is killed during a delivery, it ends the receiver, and repeats the alert at most once, with the same id", limit=120, once=True)
def killed_during_the_delivery():
    waiting = TOLD / "wait"
    with keeping(KEEP + f"while [ -e {waiting} ]; do sleep 0.1; done\n"):
        waiting.touch()
        statusctl("post", "db", "disk full", "--level", "critical")
        [(_, number)] = is_told("db", "critical")
        before = main_process()
        systemctl("kill", "-s", "KILL", "statusd")
        eventually(lambda: main_process() not in (0, before), "another daemon")
        eventually(lambda: run("pgrep", "-f", PROGRAM).out == "", "no receiver left")
        waiting.unlink()
        is_told("db", "critical", times=2)
        equal(after_a_marker("db"), [("critical", number)] * 2)
        statusctl("post", "db", "well")
        equal(is_told("db", "ok")[-1], ("ok", number))


@test("a process of another user that a receiver has started, such as a mail server's, does not delay the next alert")
def other_user():
    program = pathlib.Path("/usr/local/bin/statusd-other")
    # Like a mail server's program, it becomes root altogether; otherwise the receiver's user might end it.
    shutil.copy("/usr/bin/setpriv", program)
    program.chmod(0o4755)
    try:
        with keeping(f"{program} --reuid=0 --regid=0 --clear-groups sleep 600 >/dev/null 2>&1 &\n{KEEP}"):
            for level in "critical", "warning", "ok":
                statusctl("post", "db", level, "--level", level)
                is_told("db", level)
            contains(run("ps", "-eo", "user,args").out, "root     sleep 600")
            equal(statusctl("alerts").count("Failed"), 0)
    finally:
        program.unlink()
