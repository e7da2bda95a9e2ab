# SPDX-License-Identifier: Apache-2.0
"""disk, memory, pressure, load and process in the sandboxes of the real services."""

import os
import subprocess

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .unit import describe, service

CONFIGURATION = """defaults: { interval: 1h }
servers:
  root: { disk: / }
  temporary: { disk: /tmp }
  run: { disk: { path: /run, mounted: true } }
  home: { disk: /home }
  mounted: { disk: { path: /home, mounted: true } }
  link: { disk: /opt/statusd-home }
  memory: { memory: true }
  load: { load: { warning: 900, critical: 1000 } }
  cpu: { pressure: { resource: cpu, warning: 100%, critical: 100% } }
  systemd: { process: { name: systemd, user: root } }
  nobody: { process: { name: sleep, user: nobody, count: 1.. } }
"""


@test("the sandboxes of the services let disks, memory, load, pressure and processes of other users be seen")
def seen():
    sleeper = subprocess.Popen(["sleep", "86407"], user="nobody")
    os.symlink("/home", "/opt/statusd-home")
    try:
        with service(configuration=CONFIGURATION):
            expected = {"root": " free", "temporary": " free", "run": " free", "home": " free", "memory": " available", "load": " per processor",
                        "systemd": "process", "nobody": "1 process, "}
            if os.path.exists("/proc/pressure/cpu"):
                expected["cpu"] = "stalled over 1 min"
            for server, part in expected.items():
                status = eventually(lambda: describe(server).get("status"), f"the status of {server}")
                equal(status["level"], "ok", f"{server}: {status['text']}")
                contains(status["text"], part)
            # The sandbox of plugins mounts /home onto itself, to make it read-only.
            status = eventually(lambda: describe("mounted").get("status"), "the status of mounted")
            equal(status["text"], "nothing is mounted at /home" if not os.path.ismount("/home") else status["text"])
            link = eventually(lambda: (found := describe("link"))["phase"] == "failed" and found["message"], "link failed")
            contains(link, "cannot access /opt/statusd-home: ProtectHome= of the service hides /home")
            warnings = run("/usr/bin/statusctl", "verify").err
            contains(warnings, "server link: the daemon cannot see /opt/statusd-home: ProtectHome= of statusd.service hides /home")
            equal(len(warnings.splitlines()), 1, warnings)
    finally:
        sleeper.kill()
        sleeper.wait()
        os.unlink("/opt/statusd-home")
