# SPDX-License-Identifier: Apache-2.0
"""What it costs to keep a state: statusd with and without it, in one run."""

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import time

from . import figures
from .delivery import MODES, PROGRAM
from .processes import STATUSCTL, STATUSD, folder, pin, running, statusd

STORED = 10_000
CHANGES, DAYS = 100_000, 90
SUMMARY = f"`Summary` of {DAYS} days in {DAYS} buckets, ms"
# The levels, and their numbers in the store.
LEVELS = [(1, "ok"), (2, "warning"), (4, "critical")]
SERVERS = "accept: any\nservers:\n" + "".join(f"  srv{number}: {{ push: true }}\n" for number in range(1000))


def measure(rounds, scale):
    """The results of both daemons in each mode, one value per round, measured in turn.

    Each round has new processes, because how fast one is depends on where its memory happens to lie.
    """
    results = {}
    for number in range(rounds):
        with contextlib.ExitStack() as stack:
            daemons = {kept: stack.enter_context(statusd(SERVERS, arguments=[] if kept else ["--state", "none"])) for kept in (True, False)}
            # Each is first in half of the rounds.
            order = (True, False) if number % 2 else (False, True)
            for mode in MODES:
                for kept in order:
                    run(daemons, kept, mode, scale / 10)
                for kept in order:
                    results.setdefault((kept, mode), []).append(run(daemons, kept, mode, scale))
    return results


def run(daemons, kept, mode, scale):
    """One result of one daemon, while the other one is idle."""
    cpus = sorted(os.sched_getaffinity(0))
    is_pinned = mode == "latency" and len(cpus) > 1
    for daemon in daemons.values():
        pin(daemon.process.pid, {cpus[1]} if is_pinned else cpus)
    environment = {**os.environ, "BENCH_STATUSD": str(daemons[kept].directory),
                   "BENCH_CPUS": f"{cpus[0]} {cpus[1]}" if is_pinned else ""}
    done = subprocess.run([str(PROGRAM), "statusd", mode, str(int(MODES[mode] * scale) or 1)], env=environment,
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"benchmarks: {mode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


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


def fill(path):
    """Adds changes until there are so many, the first of them so many days ago; each level lasts for ten changes."""
    step = DAYS * 86_400_000 // CHANGES
    with contextlib.closing(sqlite3.connect(path)) as store, store:
        server, life, now, boot = store.execute(
            "SELECT server, life, at, since_boot FROM changes WHERE server > 0 ORDER BY id DESC").fetchone()
        store.execute("DELETE FROM changes WHERE kind <> 'started'")
        store.execute("UPDATE changes SET at = at - ?, since_boot = since_boot - 1000 * ?", (DAYS * 86_400_000,) * 2)
        for number in range(CHANGES):
            grade, level = LEVELS[number // 10 % len(LEVELS)]
            store.execute(
                "INSERT INTO changes (server, kind, at, since_boot, grade, life, revision, source, phase, text, level, stale) "
                "VALUES (?, 'changed', ?, ?, ?, ?, ?, 'push', 'loaded', ?, ?, 0)",
                (server, now - (CHANGES - number) * step, boot - 1000 * (CHANGES - number) * step, grade, life, number,
                 f"Signed In ({number})", level))


def history(rounds):
    """Milliseconds of calls that read a full history."""
    with folder() as state:
        arguments = ["--state", str(state)]
        with statusd(arguments=arguments) as daemon:
            daemon.post_to(["srv0"])
        fill(state / "statusd.sqlite")
        with statusd(arguments=arguments) as daemon:
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - DAYS * 86_400))
            environment = {**os.environ, "STATUSD_ADDRESS": f"unix:{daemon.socket}"}
            calls = {
                SUMMARY: lambda: daemon.call("Summary", {"server": "srv0", "since": since, "buckets": DAYS}),
                **{f"`statusctl history {words}`, ms": lambda words=words: subprocess.run(
                    [str(STATUSCTL), "history", *words.split()], env=environment, stdout=subprocess.DEVNULL, check=True)
                   for words in ("srv0 -n 20", "srv0", f"srv0 --summary --since -{DAYS}d")},
            }
            buckets = calls[SUMMARY]()["parameters"]["buckets"]
            if sum(bucket["changes"] for bucket in buckets) < CHANGES * 0.99 or not buckets[1]["times"]["critical"]:
                raise SystemExit(f"benchmarks: the history is not complete: {buckets}")
            times = {name: [] for name in calls}
            for _ in range(rounds * 5):
                for name, call in calls.items():
                    began = time.perf_counter()
                    call()
                    times[name].append((time.perf_counter() - began) * 1e3)
            return times


def report(rounds, scale):
    # How fast a process is varies more than what is measured.
    results = measure(3 * rounds, scale)

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
    rows += [[name, figures.spread(values), "", ""] for name, values in history(rounds).items()]
    title = f"**State**: the cost of saving the state, and of reading a history of {CHANGES:,} changes of one server."
    return [title, ""] + figures.table(["what", "with a state", "with `--state none`", "ratio"], rows)
