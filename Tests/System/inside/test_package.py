# SPDX-License-Identifier: Apache-2.0
"""The Debian package, as dpkg installs, upgrades and removes it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from harness.daemon import Follower, environment, run
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test

from .unit import CONFIGURATION, PROJECT, SOCKET, clean, done, install, main_process, show, statusctl, systemctl

ENABLED = ("statusd.socket", "statusd.service")
STATE = pathlib.Path("/var/lib/statusd")
POLICY = pathlib.Path("/usr/sbin/policy-rc.d")
LEFT_BY_DPKG = ("/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/var/backups", "/var/log", "/etc/.pwd.lock",
                "/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/subuid-", "/etc/subgid-")


def dpkg(*arguments):
    """Runs dpkg, which must succeed and ask nothing; returns all that it says."""
    result = run("dpkg", *arguments, timeout=50, env=environment(DEBIAN_FRONTEND="noninteractive"))
    equal(result.status, 0, f"dpkg {arguments}, which said {result.out}{result.err}")
    return result.out + result.err


def built():
    """The package that packaging/build-deb has made."""
    for path in (PROJECT / ".build" / "deb").glob("statusd_*.deb"):
        return path
    raise Skip("there is no package; run packaging/build-deb")


@contextlib.contextmanager
def without_installation():
    """The system without what packaging/install has installed, which is there again at the end. Units may start, which is
    forbidden in many containers."""
    clean()
    install("--uninstall")
    shutil.rmtree(STATE, ignore_errors=True)
    # The index of all manual pages on the host would take seconds each time (man-db).
    pathlib.Path("/var/lib/man-db/auto-update").unlink(missing_ok=True)
    aside = POLICY.with_suffix(".statusd-test")
    if POLICY.exists():
        POLICY.rename(aside)
    try:
        yield built()
    finally:
        run("systemctl", "unmask", *ENABLED)
        run("dpkg", "--purge", "statusd")
        if aside.exists():
            aside.rename(POLICY)
        clean()
        install()


@contextlib.contextmanager
def older(package):
    """The same package with a lower version."""
    with tempfile.TemporaryDirectory() as folder:
        done("dpkg-deb", "-R", package, f"{folder}/tree")
        control = pathlib.Path(folder, "tree/DEBIAN/control")
        control.write_text(re.sub(r"(?m)^Version: .*$", "Version: 0.0.9-1", control.read_text()))
        done("dpkg-deb", "-Znone", "-b", f"{folder}/tree", f"{folder}/older.deb")
        yield f"{folder}/older.deb"


def states():
    """Whether each unit that can be enabled is enabled, and active."""
    return {unit: (run("systemctl", "is-enabled", unit).out.strip(), show("ActiveState", unit)) for unit in ENABLED}


def paths():
    """All paths that the package or the service could leave, except those that dpkg leaves of every package. Other directories may belong to a
    running system, which changes them meanwhile."""
    prune = [word for path in LEFT_BY_DPKG for word in ("-path", path, "-o")][:-1]
    found = done("find", "/etc", "/usr", "/var", "-xdev", "(", *prune, ")", "-prune", "-o", "-print").splitlines()
    temporary = (*pathlib.Path("/").glob("*statusd*"), *pathlib.Path("/run").glob("statusd*"), *pathlib.Path("/tmp").glob("systemd-private-*statusd*"))
    return {*found, *map(str, temporary)}


def owner_and_mode(path):
    """Such as root:statusd 750."""
    return done("stat", "-c", "%U:%G %a", path).strip()


ALL_RUN = {unit: ("enabled", "active") for unit in ENABLED}


@test("the package starts the units and enables them; purging it ends everything and leaves no file behind")
def life():
    metrics = pathlib.Path("/var/lib/prometheus/node-exporter")
    with without_installation() as package, contextlib.ExitStack() as stack:
        metrics.mkdir(parents=True)
        stack.callback(shutil.rmtree, metrics.parent)
        before = paths()
        dpkg("-i", package)
        equal(states(), ALL_RUN)
        systemctl("enable", "statusd-metrics.timer")
        systemctl("start", "statusd-metrics.service")
        assert (metrics / "statusd.prom").exists()
        equal(owner_and_mode(CONFIGURATION.parent), "root:statusd 750")
        equal(owner_and_mode("/usr/bin/statusd"), "root:root 711")
        done(PROJECT / "packaging" / "debian" / "tests" / "post-and-read")
        CONFIGURATION.write_text("servers: { load: { exec: [/bin/sleep, 60] } }\n")
        (CONFIGURATION.parent / "conf.d").mkdir()
        statusctl("reload")
        eventually(lambda: show("ActiveState", "statusd-executor.service") == "active", "the executor")
        with Follower("/usr/bin/statusctl", "watch", "--all", env=environment()):
            dpkg("-r", "statusd")
        equal([str(path) for path in pathlib.Path("/run").glob("statusd*")], [])
        equal(sorted(path.name for path in CONFIGURATION.parent.iterdir()), ["conf.d", "statusd.yaml"], "kept")
        for user in ("statusd", "statusd-executor", "statusd-alerts"):
            equal(run("ps", "-o", "args=", "-u", user).out, "", f"processes of {user}")
        dpkg("--purge", "statusd")
        equal(sorted(paths() ^ before), [], "differences")
        equal(run("systemctl", "list-units", "--all", "--plain", "--no-legend", "statusd*").out, "", "units")


@test("the removal of a package that was only unpacked ends everything, too, and a new installation runs plugins", once=True)
def unpacked():
    with without_installation() as package:
        dpkg("-i", package)
        CONFIGURATION.write_text("servers: { load: { exec: [/bin/echo, well] } }\n")
        statusctl("reload")
        statusctl("refresh", "load")
        dpkg("--unpack", package)
        assert main_process() != 0
        dpkg("-r", "statusd")
        for user in ("statusd", "statusd-executor", "statusd-alerts"):
            eventually(lambda: run("ps", "-o", "args=", "-u", user).out == "", f"no processes of {user}")
        equal([str(path) for path in pathlib.Path("/run").glob("statusd*")], [])
        dpkg("-i", package)
        contains(statusctl("refresh", "load"), "well")


@test("a removal ends everything that the users of the services had logind start")
def service_managers():
    # Of a package that is only unpacked, no prerm runs.
    for then in ([], ["--unpack"]):
        with without_installation() as package:
            dpkg("-i", package)
            for user in ("statusd", "statusd-executor", "statusd-alerts"):
                done("loginctl", "enable-linger", user)
                eventually(lambda: "systemd" in run("ps", "-o", "comm=", "-u", user).out, f"a service manager of {user}")
            for option in then:
                dpkg(option, package)
            dpkg("-r", "statusd")
            for user in ("statusd", "statusd-executor", "statusd-alerts"):
                # systemd gives a service manager 90 s to end.
                eventually(lambda: run("ps", "-o", "args=", "-u", user).out == "", f"no processes of {user}", patience=100)
                assert not pathlib.Path("/var/lib/systemd/linger", user).exists(), user


@test("packaging/install neither replaces nor removes the files of the package", once=True)
def beside_package():
    with without_installation() as package:
        for option in ("-i", "--unpack"):
            dpkg(option, package)
            before = os.stat("/usr/bin/statusctl")
            for options in ((), ("--uninstall",)):
                refused = run(str(PROJECT / "packaging" / "install"), *options)
                equal(refused.status, 1)
                contains(refused.err, "apt remove statusd")
            equal(os.stat("/usr/bin/statusctl"), before)
        # A purge does not change an installation from a clone that was made after the removal.
        dpkg("-r", "statusd")
        install()
        done("systemctl", "enable", "--now", "statusd.socket", "statusd.service")
        statusctl("post", "db", "here")
        own = CONFIGURATION.parent / "conf.d" / "own.yaml"
        own.parent.mkdir()
        own.write_text("servers: {}\n")
        dpkg("-P", "statusd")
        equal(show("UnitFileState", "statusd.socket"), "enabled")
        assert own.exists()
        contains(statusctl("status", "db"), "here")
        systemctl("stop", "statusd.socket", "statusd.service")
        assert (STATE / "statusd.sqlite").exists()
        install("--uninstall")
        # The purge has left nothing that keeps a new package from starting its units.
        dpkg("-i", package)
        equal(states(), ALL_RUN)


@test("a directory in which another user continues to create files is not used again after a removal", once=True)
def lasting_user():
    with without_installation() as package:
        dpkg("-i", package)
        statusctl("post", "db", "here")
        for place in ("/run/statusd", str(STATE)):
            os.chmod(place, 0o777)
            done("mkdir", "-m", "777", f"{place}/sub")
        # A process that has its working directory there, which a compromised daemon may allow.
        loop = "cd {0}/sub && while :; do : >$((n = (n + 1) % 50)); done"
        users = [subprocess.Popen(["setpriv", "--reuid=nobody", "--clear-groups", "sh", "-c", loop.format(place)], stderr=subprocess.DEVNULL) for place in ("/run/statusd", STATE)]
        try:
            eventually(lambda: pathlib.Path(STATE, "sub", "9").exists(), "the first files")
            dpkg("-P", "statusd")
            equal([path for path in ("/run/statusd", str(STATE)) if os.path.exists(path)], [])
        finally:
            for user in users:
                user.kill()
                user.wait()
            for path in (*pathlib.Path("/run").glob("statusd*"), *pathlib.Path("/var/lib").glob("statusd*")):
                shutil.rmtree(path)


@test("no post fails during an upgrade, watch --all misses nothing, and the sockets stay open")
def upgrade():
    with without_installation() as package, older(package) as before:
        dpkg("-i", before)
        os.chmod(CONFIGURATION.parent, 0o755)
        statusctl("post", "db", "begin")
        process, socket = main_process(), os.stat(SOCKET).st_ino
        with Follower("/usr/bin/statusctl", "watch", "--all", "--json", env=environment()) as lines:
            lines.until("begin")
            poster = subprocess.Popen(["/bin/sh", "-c", "n=0; trap 'end=1' TERM; until [ -n \"$end\" ] && [ $n -gt 20 ]; do "
                                       "n=$((n + 1)); statusctl post db \"Step $n\" || exit 1; done; statusctl post db end"])
            try:
                lines.until("Step 3")
                dpkg("-i", package)
                seen = len(lines.seen)
                lines.until("Step")
            finally:
                poster.terminate()
            equal(poster.wait(15), 0, "exit status of the posts")
            lines.until('"end"')
        assert main_process() not in (0, process), "the old daemon still runs"
        events = [event for event in map(json.loads, lines.seen) if event["kind"] != "snapshot"]
        texts = [event["server"]["status"]["text"] for event in events if event["kind"] == "changed"]
        equal(texts, [*(f"Step {number}" for number in range(1, len(texts))), "end"])
        equal({event["kind"] for event in events} - {"changed", "alive", "disconnected", "reconnected"}, set(), "gaps")
        assert seen < len(texts), "no post after the upgrade"
        equal(os.stat(SOCKET).st_ino, socket, "socket")
        equal(states(), ALL_RUN)
        equal(owner_and_mode(CONFIGURATION.parent), "root:statusd 755")


@test("an upgrade leaves disabled and stopped units as they are; so does an installation after a removal, which starts the others", once=True)
def administrator():
    with without_installation() as package, older(package) as before:
        CONFIGURATION.parent.mkdir(mode=0o755)
        dpkg("-i", before)
        equal(owner_and_mode(CONFIGURATION.parent), "root:root 755")
        systemctl("disable", "--now", "statusd.service")
        systemctl("enable", "statusd.socket")
        systemctl("stop", "statusd.socket")
        left = {"statusd.socket": ("enabled", "inactive"), "statusd.service": ("disabled", "inactive")}
        equal(states(), left)
        dpkg("-i", package)
        equal(states(), left)
        dpkg("-r", "statusd")
        dpkg("-i", package)
        equal(states(), {**left, "statusd.socket": ("enabled", "active")})
        equal(owner_and_mode(CONFIGURATION.parent), "root:root 755")


@test("the package replaces an installation from a clone, and restarts its service", once=True)
def after_a_clone():
    with without_installation() as package:
        install()
        systemctl("enable", "--now", "statusd.socket", "statusd.service")
        statusctl("post", "db", "Signed In")
        process = main_process()
        dpkg("-i", package)
        equal(states(), ALL_RUN)
        assert main_process() not in (0, process), "the old daemon still runs"
        equal(owner_and_mode(CONFIGURATION.parent), "root:statusd 750")
        contains(statusctl("status", "db"), "Signed In")
