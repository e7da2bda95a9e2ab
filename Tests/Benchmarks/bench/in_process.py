# SPDX-License-Identifier: Apache-2.0
"""Measurements inside one process: notifications, the log, JSON."""

import json
import os
import subprocess

from . import figures
from .processes import ROOT

BASE = "Foundation, to a block observer"


def report(rounds, scale):
    environment = {**os.environ, "STATUSD_BENCHMARKS": "1"}
    product = "InProcessBenchmarks"
    # The options of packaging/build, so that the modules are not built again.
    options = ["--static-swift-stdlib", "-Xswiftc", "-Xfrontend", "-Xswiftc", "-disable-incremental-llvm-codegen", "-Xlinker", "-s"]
    build = ["swift", "build", "-c", "release", *options, "--product", product]
    subprocess.run(build, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    program = ROOT / ".build" / "release" / product
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True, check=True)
    results = json.loads(done.stdout)
    rows = [
        [name, figures.spread(values), figures.ratio(values, results[BASE]) if "," in name and "log" not in name else ""]
        for name, values in results.items()
    ]
    return ["**In one process**.", ""] + figures.table(["what", "a second", "of Foundation"], rows)
