# SPDX-License-Identifier: Apache-2.0
"""statusctl init, and the first minute of a host without a configuration."""

import json
import pathlib
import shutil

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test
from inside.unit import as_user, done, service, statusctl

FILE = pathlib.Path("/etc/statusd/conf.d/00-init.yaml")


@test("without a configuration, list names init, which follows failed units, enabled services and disks of this host")
def first_minute():
    with service():
        try:
            contains(run("/usr/bin/statusctl", "list").err, "no servers yet; run “statusctl init”")
            run("systemd-run", "--unit=broken", "/bin/false")
            eventually(lambda: run("systemctl", "is-failed", "broken").status == 0, "the failed unit")
            pathlib.Path("/etc/systemd/system/shop.service").write_text(
                "[Unit]\nDescription=The \"shop\": all of it\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
                encoding="utf-8")
            pathlib.Path("/etc/systemd/system/dump.service").write_text("[Service]\nType=oneshot\nExecStart=/bin/true\n", encoding="utf-8")
            pathlib.Path("/etc/systemd/system/dump.timer").write_text("[Timer]\nOnCalendar=hourly\n", encoding="utf-8")
            done("systemctl", "daemon-reload")
            done("systemctl", "enable", "--now", "shop.service")
            done("systemctl", "start", "dump.timer")
            told = as_user("/usr/bin/statusctl", "init")
            equal(told.status, 77)
            contains(told.err, "use sudo")
            printed = statusctl("init", "--print")
            assert not FILE.exists()
            told = statusctl("init")
            contains(told, f"wrote {FILE}: ", "* broken ", "broken.service, failed now", "shop.service", "dump.service, by its timer", "disk-root", "memory ",
                     "failed-units ", "any unit that fails",
                     "left out parts of the system: ", "left out other types of units, and user managers; failed-units is critical if any unit fails", "Next: “statusctl reload”")
            equal(FILE.read_text(encoding="utf-8"), printed)
            equal(run("/usr/bin/statusctl", "verify").err, "")
            statusctl("reload")
            done("/usr/bin/statusctl", "wait", "shop", "--timeout", "20s")
            done("/usr/bin/statusctl", "wait", "disk-root", "--timeout", "20s")
            done("/usr/bin/statusctl", "wait", "memory", "--timeout", "20s")
            found = {server["name"]: server for server in json.loads(statusctl("list", "--json"))["servers"]}
            equal((found["broken"]["status"]["level"], found["broken"]["selected"]), ("critical", True))
            measured = [resource for resource in ("io", "memory") if pathlib.Path("/proc/pressure", resource).exists()]
            equal(sorted(name for name in found if name.startswith("pressure-")), [f"pressure-{resource}" for resource in measured],
                  "processors are for their use: cpu is busy on a healthy host")
            contains(found["failed-units"]["status"]["text"], "failed: ", "broken.service (exit status 1)")
            equal(found["shop"]["description"], 'The "shop": all of it')
            contains(run("/usr/bin/statusctl", "init").err, f"{FILE} exists already; “statusctl init --print” shows")
            first = FILE.with_name("first.yaml")
            first.write_text("select: web\nservers: { web: { push: true } }\n", encoding="utf-8")
            equal(statusctl("reload"), "added: web\nselected: web\n", "a file of the administrator's overrides init's")
            first.unlink()
            statusctl("reload")
            statusctl("select", "broken")
            equal(json.loads(statusctl("init", "--force", "--json"))["file"], str(FILE))
            statusctl("post", "guest", "still accepted")
        finally:
            FILE.unlink(missing_ok=True)
            run("systemctl", "disable", "--now", "shop.service")
            run("systemctl", "reset-failed", "broken")
            run("systemctl", "stop", "dump.timer")
            for name in ("shop.service", "dump.service", "dump.timer"):
                pathlib.Path(f"/etc/systemd/system/{name}").unlink(missing_ok=True)
            run("systemctl", "daemon-reload")


@test("init's file can be read by the daemon and by no other user, whatever the umask; a file that is there stays")
def access():
    with service():
        try:
            shutil.rmtree(FILE.parents[1], ignore_errors=True)
            done("sh", "-c", "umask 077; exec /usr/bin/statusctl init")
            equal([(path.stat().st_mode & 0o777, path.owner(), path.group()) for path in (FILE.parents[1], FILE.parent, FILE)],
                  [(0o750, "root", "statusd"), (0o755, "root", "root"), (0o644, "root", "root")])
            statusctl("reload")
            done("systemctl", "restart", "statusd.service")
            assert as_user("/bin/cat", FILE).status != 0, "another user can read the configuration"
            FILE.write_text("# mine\nhistory: { keep: 10d }\n", encoding="utf-8")
            contains(run("/usr/bin/statusctl", "init").err, f"{FILE} exists already", "--force")
            contains(FILE.read_text(encoding="utf-8"), "# mine")
        finally:
            shutil.rmtree(FILE.parent, ignore_errors=True)
