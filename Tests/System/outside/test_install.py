# SPDX-License-Identifier: Apache-2.0
"""packaging/install into a folder, as for building packages. (Into a running system: see inside/test_unit.py.)"""

import contextlib
import os
import pathlib
import shutil
import tempfile

from harness.attacker import need_root
from harness.daemon import environment, run
from harness.expect import Skip, contains, equal, one_sentence
from harness.runner import test

PROJECT = pathlib.Path(__file__).resolve().parents[3]
INSTALL = PROJECT / "packaging" / "install"
FILES = ["usr/bin/statusctl", "usr/bin/statusd", "usr/bin/statusd-web", "usr/bin/statusd-mqtt", "usr/lib/systemd/system/statusd-mqtt.service", "usr/lib/sysusers.d/statusd-mqtt.conf", "usr/lib/systemd/system/statusd-web.service", "usr/lib/systemd/system/statusd-web.socket", "usr/lib/systemd/system/statusd.service",
         "usr/lib/systemd/system/statusd.socket",
         "usr/lib/systemd/system/statusd-executor.service",
         "usr/lib/systemd/system/statusd-executor.socket", "usr/lib/systemd/system/statusd-alerts.service", "usr/lib/systemd/system/statusd-alerts.socket",
         "usr/lib/systemd/system/statusd-metrics.service", "usr/lib/systemd/system/statusd-metrics.timer",
         *(f"usr/lib/statusd/alerts/{name}" for name in ("alert.py", "alertmanager", "desktop", "mail", "ntfy", "unit", "wall", "webhook")),
         "usr/lib/sysusers.d/statusd.conf",
         "usr/lib/systemd/catalog/statusd.catalog",
         *(f"usr/share/doc/statusd/examples/{name}" for name in ("waybar.jsonc", "i3blocks.conf", "polybar.ini", "tmux.conf", "prompt.bash",
                                                                 "client.py", "client.sh", "client-varlinkctl.sh", "statusd-maintenance.service", "statusd-maintenance.timer",
                                                                 "prometheus-rules.yml", "grafana-dashboard.json")),
         "usr/share/polkit-1/rules.d/10-statusd.rules", "usr/share/statusd/statusctl.schema.json", "usr/share/statusd/alert.schema.json", "usr/share/statusd/org.statusd.monitor.varlink", "usr/share/doc/statusd/SECURITY.md",
         *(f"usr/share/bash-completion/completions/{program}" for program in ("statusctl", "statusd", "statusd-web", "statusd-mqtt")),
         *(f"usr/share/zsh/vendor-completions/_{program}" for program in ("statusctl", "statusd", "statusd-web", "statusd-mqtt")),
         *(f"usr/share/fish/vendor_completions.d/{program}.fish" for program in ("statusctl", "statusd", "statusd-web", "statusd-mqtt"))]
MANUALS = [f"usr/share/man/man{page[-1]}/{page}"
           for page in ("statusctl.1", "statusd.yaml.5", "org.statusd.monitor.7", "statusd-security.7", "statusd.8", "statusd-web.8", "statusd-mqtt.8")]
"""The manual pages, which pandoc makes."""


def installed(folder):
    """The files under a folder, in order."""
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


@test("install with DESTDIR puts its files there and nowhere else, and --uninstall removes them again")
def into_a_folder():
    if not (PROJECT / ".build/release/statusctl").exists():
        raise Skip("there is no release build")
    with tempfile.TemporaryDirectory() as folder:
        into = environment(DESTDIR=folder)
        result = run(INSTALL, "--no-build", env=into)
        equal((result.status, result.err), (0, ""))
        equal(installed(folder), sorted(FILES + (MANUALS if shutil.which("pandoc") else [])))
        assert os.access(f"{folder}/usr/bin/statusd", os.X_OK)
        contains(result.out, f"{folder}/usr/bin/statusd")
        equal(run(INSTALL, "--uninstall", env=into).status, 0)
        equal(installed(folder), [])


@test("install rejects invalid arguments with the reason")
def arguments():
    result = run(INSTALL, "--nonsense")
    equal(result.status, 64)
    contains(result.err, "--nonsense")


@contextlib.contextmanager
def clone(build):
    """A project with only what packaging/install needs, whose build runs these commands."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        shutil.copytree(PROJECT / "packaging", f"{folder}/packaging")
        for name, text in (("build", build), ("setup", "true")):
            path = pathlib.Path(folder, "packaging", name)
            path.write_text("#!/bin/sh\n" + text + "\n")
            path.chmod(0o755)
        pathlib.Path(folder, "Sources/StatusInterface").mkdir(parents=True)
        for file in ("Sources/StatusInterface/MonitorVersion.swift", "Sources/StatusInterface/org.statusd.monitor.varlink", "SECURITY.md"):
            shutil.copy(PROJECT / file, f"{folder}/{file}")
        pathlib.Path(folder, "Package.swift").touch()
        yield folder


MAKE = "mkdir -p .build/release; cd .build/release; for name in statusd statusctl statusd-web statusd-mqtt; do echo '#!/bin/true {text}' >$name; chmod +x $name; done; id -un >../who"


@test("install takes no binary that needs the toolchain: it builds, and with --no-build it fails with the reason")
def dynamic_binaries():
    with clone(MAKE.format(text="static")) as folder:
        run("sh", "-c", MAKE.format(text="libswiftCore.so"), cwd=folder)
        into = environment(DESTDIR=f"{folder}/root")
        contains(one_sentence(run(f"{folder}/packaging/install", "--no-build", env=into), 1), "toolchain")
        equal(run(f"{folder}/packaging/install", env=into).status, 0)
        equal(pathlib.Path(folder, "root/usr/bin/statusd").read_text(), "#!/bin/true static\n")


@test("an installation that fails, because the disk is full, leaves the installed files alone")
def full_disk():
    with clone(MAKE.format(text="static")) as folder:
        into = environment(DESTDIR=f"{folder}/root")
        equal(run(f"{folder}/packaging/install", env=into).status, 0)
        before = installed(f"{folder}/root")
        pathlib.Path(folder, ".build/release/statusd").write_text("new" * 100_000)
        assert run("sh", "-c", f"ulimit -f 16; exec {folder}/packaging/install --no-build", env=into).status != 0
        equal(pathlib.Path(folder, "root/usr/bin/statusd").read_text(), "#!/bin/true static\n")
        equal(installed(f"{folder}/root"), before)


@test("under sudo, install builds as the user who called it")
def build_under_sudo():
    need_root()
    with clone(MAKE.format(text="static")) as folder:
        result = run(f"{folder}/packaging/install", env=environment(DESTDIR=f"{folder}/root", SUDO_USER="nobody"))
        equal((result.status, result.err), (0, ""))
        equal(pathlib.Path(folder, ".build/who").read_text(), "nobody\n")
