# SPDX-License-Identifier: Apache-2.0
"""Measurements inside one process: notifications, the log, JSON."""

import json
import os
import subprocess

from . import figures
from .processes import ROOT

BASE = "Foundation, to a block observer"


PRODUCT = "InProcessBenchmarks"
# The options of packaging/build, so that the modules are not built again.
OPTIONS = [
    "--traits", "ServiceLifecycle", "--static-swift-stdlib", "-Xswiftc", "-Xfrontend", "-Xswiftc",
    "-disable-incremental-llvm-codegen", "-Xlinker", "-s",
]


def build():
    command = ["swift", "build", "-c", "release", *OPTIONS, "--product", PRODUCT]
    environment = {**os.environ, "STATUSD_BENCHMARKS": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)


def report(rounds, scale):
    program = ROOT / ".build" / "release" / PRODUCT
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True, check=True)
    results = json.loads(done.stdout)
    rows = [
        [name, figures.spread(values), figures.ratio(values, results[BASE]) if "," in name and "log" not in name else ""]
        for name, values in results.items()
    ]
    return ["**In one process**.", ""] + figures.table(["what", "a second", "of Foundation"], rows)
