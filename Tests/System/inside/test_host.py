# SPDX-License-Identifier: Apache-2.0
"""disk, memory, pressure, load and process in the sandboxes of the real services."""

import os
import subprocess

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .test_units import describe
from .unit import service

CONFIGURATION = """defaults: { interval: 1h }
servers:
  root: { disk: / }
  temporary: { disk: /tmp }
  run: { disk: { path: /run, mounted: true } }
  home: { disk: /home }
  memory: { memory: true }
  load: { load: { warning: 900, critical: 1000 } }
  cpu: { pressure: { resource: cpu, warning: 100%, critical: 100% } }
  systemd: { process: { name: systemd, user: root } }
  nobody: { process: { name: sleep, user: nobody, count: 1.. } }
"""


@test("the sandboxes of the services let disks, memory, load, pressure and processes of other users be seen")
def seen():
    sleeper = subprocess.Popen(["sleep", "86407"], user="nobody")
    try:
        with service(configuration=CONFIGURATION):
            expected = {"root": " free", "temporary": " free", "run": " free", "memory": " available", "load": " per processor",
                        "systemd": "process", "nobody": "1 process, "}
            if os.path.exists("/proc/pressure/cpu"):
                expected["cpu"] = "stalled over 1 min"
            for server, part in expected.items():
                status = eventually(lambda: describe(server).get("status"), f"the status of {server}")
                equal(status["level"], "ok", f"{server}: {status['text']}")
                contains(status["text"], part)
            home = eventually(lambda: (found := describe("home"))["phase"] == "failed" and found["message"], "home failed")
            contains(home, "cannot access /home: ProtectHome= of the service hides /home")
            warnings = run("/usr/bin/statusctl", "verify").err
            contains(warnings, "the daemon cannot see /home: ProtectHome= of statusd.service hides /home")
            equal("/tmp" in warnings, False, warnings)
    finally:
        sleeper.kill()
        sleeper.wait()
