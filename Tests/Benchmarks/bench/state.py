# SPDX-License-Identifier: Apache-2.0
"""What it costs to keep a state: statusd with and without it, in one run."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time

from . import figures
from .delivery import MODES, build
from .processes import STATUSD, folder, pin, running, statusd

STORED = 10_000
SERVERS = "accept: any\nservers:\n" + "".join(f"  srv{number}: {{ push: true }}\n" for number in range(1000))


def measure(rounds, scale):
    """The results of both daemons in each mode, one value per round, measured in turn."""
    program, results = build(), {}
    cpus = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        daemons = {kept: stack.enter_context(statusd(SERVERS, arguments=[] if kept else ["--state", "none"])) for kept in (True, False)}
        for number in range(rounds + 1):
            # Each is first in half of the rounds.
            for kept in (True, False) if number % 2 else (False, True):
                for mode, count in MODES.items():
                    is_pinned = mode == "latency" and len(cpus) > 1
                    for daemon in daemons.values():
                        pin(daemon.process.pid, {cpus[1]} if is_pinned else cpus)
                    environment = {**os.environ, "BENCH_STATUSD": str(daemons[kept].directory),
                                   "BENCH_CPUS": f"{cpus[0]} {cpus[1]}" if is_pinned else ""}
                    done = subprocess.run([str(program), "statusd", mode, str(int(count * scale) or 1)], env=environment,
                                          capture_output=True, text=True, timeout=300)
                    if done.returncode:
                        raise SystemExit(f"benchmarks: {mode}: {done.stderr.strip()}")
                    if number:
                        results.setdefault((kept, mode), []).append(json.loads(done.stdout))
    return results


def restarts(rounds):
    """Milliseconds until READY=1, and resident kilobytes, of a daemon that restores so many servers; and of the one that saved them."""
    with folder() as directory:
        configuration = directory / "statusd.yaml"
        configuration.write_text("accept: any\nlimits: { servers: 65536 }\n")
        weights, times, resident = {}, [], []
        for kept in (False, True):
            with statusd(configuration.read_text(), arguments=[] if kept else ["--state", "none"]) as daemon:
                daemon.post_to([f"host{number}.example.org" for number in range(STORED)])
                time.sleep(3)
                weights[kept] = daemon.status("VmRSS")
                if kept:
                    shutil.copytree(daemon.directory, directory / "saved", ignore=lambda _, names: [n for n in names if "sqlite" not in n])
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(directory / "manager"))
            manager.settimeout(30)
            for _ in range(rounds):
                state = directory / "state"
                shutil.rmtree(state, ignore_errors=True)
                shutil.copytree(directory / "saved", state)
                environment = {**os.environ, "NOTIFY_SOCKET": str(directory / "manager"), "RUNTIME_DIRECTORY": str(directory / "run"),
                               "STATE_DIRECTORY": str(state)}
                began = time.perf_counter()
                with running([str(STATUSD), "--config", str(configuration)], env=environment, stdout=subprocess.DEVNULL) as process:
                    while b"READY=1" not in manager.recv(65536):
                        pass
                    times.append((time.perf_counter() - began) * 1e3)
                    time.sleep(2)
                    for line in open(f"/proc/{process.pid}/status"):
                        if line.startswith("VmRSS:"):
                            resident.append(int(line.split()[1]))
        return weights, times, resident


def report(rounds, scale):
    results = measure(rounds, scale)

    def values(kept, mode, field):
        return [result[field] for result in results[(kept, mode)]]

    rows = []
    for title, mode, field in (("one update, µs", "latency", "p50"), ("the slowest of 100, µs", "latency", "p99"),
                               ("selected server, updates/s", "selected", "rate"), ("1000 servers, updates/s", "fanin", "rate")):
        kept, none = values(True, mode, field), values(False, mode, field)
        rows.append([title, figures.spread(kept), figures.spread(none), figures.ratio(kept, none)])
    weights, times, resident = restarts(rounds)
    rows.append([f"resident with {STORED} servers, MB", f"{weights[True] / 1000:.1f}", f"{weights[False] / 1000:.1f}",
                 figures.ratio([weights[True]], [weights[False]])])
    rows.append([f"until ready with {STORED} restored servers, ms", figures.spread(times), "", ""])
    rows.append(["resident after that, MB", f"{figures.median(resident) / 1000:.1f}", "", ""])
    return ["**State**: what it costs that a restart forgets nothing.", ""] + figures.table(
        ["what", "with a state", "with `--state none`", "ratio"], rows)
