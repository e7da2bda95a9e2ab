# SPDX-License-Identifier: Apache-2.0
"""statusctl init, and the first minute of a host without a configuration."""

import json
import pathlib

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test
from inside.unit import as_user, done, service, statusctl

FILE = pathlib.Path("/etc/statusd/conf.d/init.yaml")


@test("without a configuration, list names init, which follows failed units, enabled services and disks of this host")
def first_minute():
    with service():
        try:
            contains(run("/usr/bin/statusctl", "list").err, "no servers yet; run “sudo statusctl init”")
            run("systemd-run", "--unit=broken", "/bin/false")
            eventually(lambda: run("systemctl", "is-failed", "broken").status == 0, "the failed unit")
            pathlib.Path("/etc/systemd/system/shop.service").write_text(
                "[Unit]\nDescription=The \"shop\": all of it\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
                encoding="utf-8")
            done("systemctl", "daemon-reload")
            done("systemctl", "enable", "--now", "shop.service")
            told = as_user("/usr/bin/statusctl", "init")
            equal(told.status, 77)
            contains(told.err, "use sudo")
            printed = statusctl("init", "--print")
            assert not FILE.exists()
            told = statusctl("init")
            contains(told, f"wrote {FILE}: ", "* broken ", "broken.service, failed now", "shop.service", "disk-root", "Next: “statusctl reload”")
            equal(FILE.read_text(encoding="utf-8"), printed)
            equal(run("/usr/bin/statusctl", "verify").err, "")
            statusctl("reload")
            done("/usr/bin/statusctl", "wait", "shop", "--timeout", "20s")
            done("/usr/bin/statusctl", "wait", "disk-root", "--timeout", "20s")
            found = {server["name"]: server for server in json.loads(statusctl("list", "--json"))["servers"]}
            equal((found["broken"]["status"]["level"], found["broken"]["selected"]), ("critical", True))
            equal(found["shop"]["description"], 'The "shop": all of it')
            contains(run("/usr/bin/statusctl", "init").err, f"servers are configured already, in {FILE}")
            equal(json.loads(statusctl("init", "--force", "--json"))["file"], str(FILE))
            statusctl("post", "guest", "still accepted")
        finally:
            FILE.unlink(missing_ok=True)
            run("systemctl", "disable", "--now", "shop.service")
            run("systemctl", "reset-failed", "broken")
            pathlib.Path("/etc/systemd/system/shop.service").unlink(missing_ok=True)
            run("systemctl", "daemon-reload")
