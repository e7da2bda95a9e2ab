# SPDX-License-Identifier: Apache-2.0
"""The daemon's weight: files, memory, wake-ups, and the time until it is ready."""

import os
import pathlib
import socket
import subprocess
import time

from . import figures
from .processes import STATUSCTL, STATUSD, folder, running, statusd, until


def ready_times(configuration, rounds):
    """Milliseconds from the start until READY=1."""
    times = []
    for _ in range(rounds):
        with folder() as directory:
            (directory / "statusd.yaml").write_text(configuration)
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(str(directory / "manager"))
                manager.settimeout(30)
                environment = {
                    **os.environ, "NOTIFY_SOCKET": str(directory / "manager"), "RUNTIME_DIRECTORY": str(directory),
                    "STATE_DIRECTORY": str(directory / "state")}
                began = time.perf_counter()
                command = [str(STATUSD), "--config", str(directory / "statusd.yaml")]
                with running(command, env=environment, stdout=subprocess.DEVNULL):
                    while b"READY=1" not in manager.recv(65536):
                        pass
                    times.append((time.perf_counter() - began) * 1e3)
    return times


def switches(daemon):
    """How often the scheduler switched to the daemon's threads."""
    total = 0
    for task in os.listdir(f"/proc/{daemon.process.pid}/task"):
        for line in open(f"/proc/{daemon.process.pid}/task/{task}/status"):
            if "ctxt_switches" in line:
                total += int(line.split()[1])
    return total


def until_idle(daemon):
    """Waits until nothing is left to do: the journal's limits let held entries through for some seconds."""
    before = None
    while (now := switches(daemon)) != before:
        before = now
        time.sleep(3)


def wake_ups(daemon, seconds):
    """How often an idle daemon runs per minute."""
    before = switches(daemon)
    time.sleep(seconds)
    return (switches(daemon) - before) * 60 / seconds


def time_with_workers(daemon):
    """Seconds of processor time of a daemon and its workers, also of those that have ended."""
    ticks = 0
    processes = [daemon.process.pid]
    for children in pathlib.Path(f"/proc/{daemon.process.pid}/task").glob("*/children"):
        processes += children.read_text().split()
    for process in processes:
        # utime, stime, and those of children that have ended (proc(5)).
        ticks += sum(map(int, open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def load_of_checks(seconds):
    """The share of a processor that 200 checks of this host take, in percent."""
    servers = "".join(
        f"  disk{number}: {{ disk: /, interval: 10s }}\n  memory{number}: {{ memory: true, interval: 10s }}\n"
        for number in range(100))
    with statusd("servers:\n" + servers) as daemon:
        # The first checks begin together.
        time.sleep(12)
        before = time_with_workers(daemon)
        time.sleep(seconds)
        return (time_with_workers(daemon) - before) / seconds * 100


def report(rounds, scale):
    rows = [[f"`{file.name}`, stripped, MB", f"{file.stat().st_size / 1e6:.1f}"] for file in (STATUSD, STATUSCTL)]
    with statusd() as daemon:
        daemon.post_to([f"srv{number}" for number in range(10)])
        until_idle(daemon)
        rows.append(["resident with 10 servers, MB", f"{daemon.status('VmRSS') / 1000:.1f}"])
        rows.append(["wake-ups a minute, idle, without a watchdog", f"{wake_ups(daemon, max(5, int(30 * scale))):.0f}"])
        daemon.post_to([f"host{number}.example.org" for number in range(1000)])
        until_idle(daemon)
        before = daemon.status("VmRSS")
        daemon.post_to([f"host{number}.example.org" for number in range(1000, 10_000)])
        until_idle(daemon)
        rows.append(["each further server, with its notify socket, KB", f"{(daemon.status('VmRSS') - before) / 9000:.2f}"])
    rows.append(["until ready, ms", figures.spread(ready_times("accept: any\n", rounds * 3))])
    servers = "".join(f"  srv{number}: {{ notify: true }}\n" for number in range(1000))
    rows.append(["until ready with 1000 notify sockets, ms", figures.spread(ready_times("servers:\n" + servers, rounds))])
    rows.append(["200 checks of disks and memory every 10 s, % of a processor", f"{load_of_checks(max(10, int(60 * scale))):.2f}"])
    return ["**Weight**.", ""] + figures.table(["what", "figure"], rows)
