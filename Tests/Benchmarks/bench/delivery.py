# SPDX-License-Identifier: Apache-2.0
"""Delivery through the daemon: statusd compared with the programs that users would choose instead, all in one run."""

import contextlib
import json
import os
import shutil
import subprocess

from . import figures
from .processes import BUILD, ROOT, folder, pin, running, statusd, until

PEERS = ["raw", "redis", "mosquitto", "nats", "dbus", "statusd", "notify"]
TITLES = {
    "raw": "bare relay", "redis": "Redis", "mosquitto": "mosquitto", "nats": "NATS", "dbus": "D-Bus",
    "statusd": "**statusd**", "notify": "**statusd** (notify)",
}
MODES = {"latency": 10_000, "selected": 200_000, "fanin": 200_000}
MOSQUITTO, NATS = 21883, 24222


# The program that publishes and subscribes.
PROGRAM = BUILD / "peers"


def build():
    """Compiles ``PROGRAM``."""
    BUILD.mkdir(parents=True, exist_ok=True)
    sources = sorted((ROOT / "Tests" / "Benchmarks" / "peers").glob("*.c"))
    libraries = ["libsystemd", "hiredis", "libmosquitto", "libnats"]
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *libraries], capture_output=True, text=True, check=True)
    subprocess.run(
        ["cc", "-O2", *map(str, sources), "-o", str(PROGRAM), *flags.stdout.split(), "-lpthread"], check=True)


def dbus_address(process):
    return process.stdout.readline().decode().strip()


@contextlib.contextmanager
def peers():
    """All brokers and the daemon; yields their process ids, and the environment with their addresses."""
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(folder())
        processes = []

        def start(command, output=subprocess.DEVNULL):
            processes.append(stack.enter_context(running(command, stdout=output)))
            return processes[-1]

        redis = directory / "redis"
        start(["redis-server", "--port", "0", "--unixsocket", str(redis), "--save", "", "--appendonly", "no",
               "--client-output-buffer-limit", "pubsub 0 0 0"])
        (directory / "mosquitto.conf").write_text(
            f"listener {MOSQUITTO} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nset_tcp_nodelay true\n")
        mosquitto = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        start([mosquitto, "-c", str(directory / "mosquitto.conf")])
        nats = shutil.which("nats-server") or "/usr/sbin/nats-server"
        start([nats, "-a", "127.0.0.1", "-p", str(NATS)])
        bus = start(["dbus-daemon", "--session", "--nofork", "--print-address=1"], subprocess.PIPE)
        servers = "".join(f"  srv{number}: {{ notify: true }}\n" for number in range(1000))
        daemon = stack.enter_context(statusd("accept: any\nservers:\n" + servers))
        until(redis.exists, "redis")
        brokers = [process.pid for process in processes] + [daemon.process.pid]
        yield brokers, {
            **os.environ, "BENCH_REDIS": str(redis), "BENCH_MOSQUITTO": str(MOSQUITTO), "BENCH_NATS": str(NATS),
            "BENCH_DBUS": dbus_address(bus), "BENCH_STATUSD": str(daemon.directory),
        }


def measure(rounds, scale):
    """The results of each peer in each mode, one value per round."""
    results = {}
    cpus = sorted(os.sched_getaffinity(0))
    with peers() as (brokers, environment):
        for round_number in range(rounds + 1):
            for peer in PEERS:
                for mode, count in MODES.items():
                    # With one update at a time, the scheduler's choice of one processor or two would decide, so there are always two.
                    is_pinned = mode == "latency" and len(cpus) > 1
                    for broker in brokers:
                        pin(broker, {cpus[1]} if is_pinned else cpus)
                    environment["BENCH_CPUS"] = f"{cpus[0]} {cpus[1]}" if is_pinned else ""
                    # dbus-daemon is slow enough for a smaller number; the first round warms up.
                    count = int(count * scale / (5 if peer == "dbus" and mode != "latency" else 1)) or 1
                    done = subprocess.run(
                        [str(PROGRAM), peer, mode, str(count if round_number else max(1000, count // 10))],
                        env=environment, capture_output=True, text=True, timeout=300)
                    if done.returncode != 0:
                        raise SystemExit(f"benchmarks: {peer} {mode}: {done.stderr.strip()}")
                    if round_number:
                        results.setdefault((peer, mode), []).append(json.loads(done.stdout))
    return results


def report(rounds, scale):
    results = measure(rounds, scale)

    def values(peer, mode, field):
        return [result[field] for result in results[(peer, mode)]]

    rows = []
    for peer in PEERS:
        latency, selected, fanin = values(peer, "latency", "p50"), values(peer, "selected", "rate"), values(peer, "fanin", "rate")
        missed = sum(values(peer, "selected", "missed")) + sum(values(peer, "fanin", "missed"))
        rows.append([
            TITLES[peer], figures.spread(latency), figures.ratio(latency, values("raw", "latency", "p50")),
            figures.spread(selected), figures.ratio(selected, values("dbus", "selected", "rate")),
            figures.spread(fanin), figures.ratio(fanin, values("redis", "fanin", "rate")), missed,
        ])
    header = ["through", "one update, µs", "of the relay", "selected, /s", "of D-Bus",
              "1000 servers, /s", "of Redis", "missed"]
    return ["**Delivery**: from a publisher to a subscriber that follows one of 1000 servers.", ""] + figures.table(header, rows)
