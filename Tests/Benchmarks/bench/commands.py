# SPDX-License-Identifier: Apache-2.0
"""Complete commands, from start to end, measured in turn."""

import os
import subprocess
import time

from . import figures
from .processes import STATUSCTL, folder, running, statusd, until


def measure(rounds):
    with statusd() as daemon, folder() as directory:
        redis = directory / "redis"
        redis_server = ["redis-server", "--port", "0", "--unixsocket", str(redis), "--save", "", "--appendonly", "no"]
        bus = ["dbus-daemon", "--session", "--nofork", "--print-address=1"]
        with running(redis_server, stdout=subprocess.DEVNULL), running(bus, stdout=subprocess.PIPE) as bus_process:
            address = bus_process.stdout.readline().decode().strip()
            until(redis.exists, "redis")
            daemon.post_to([f"srv{number}" for number in range(10)])
            environment = {
                **os.environ, "STATUSD_ADDRESS": f"unix:{daemon.socket}", "DBUS_SESSION_BUS_ADDRESS": address}
            peer = "org.freedesktop.DBus"
            commands = {
                "busctl call": ["busctl", "--user", "call", peer, "/org/freedesktop/DBus", peer, "GetId"],
                "redis-cli GET": ["redis-cli", "-s", str(redis), "GET", "x"],
                "statusctl status": [str(STATUSCTL), "status", "srv3"],
                "statusctl list": [str(STATUSCTL), "list"],
                "statusctl select": [str(STATUSCTL), "select", "srv3"],
                "statusctl post": [str(STATUSCTL), "post", "srv3", "Signed In"],
            }
            return in_turn(commands, environment, rounds * 20)


def in_turn(commands, environment, rounds):
    times = {name: [] for name in commands}
    for round_number in range(rounds + 5):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            if round_number >= 5:
                times[name].append((time.perf_counter() - began) * 1e3)
    return times


def report(rounds, scale):
    times = measure(rounds)
    rows = [
        [f"`{name}`", f"{figures.median(values):.2f}", figures.ratio(values, times["busctl call"])]
        for name, values in times.items()
    ]
    return ["**Commands**: one call, from start to end.", ""] + figures.table(["command", "ms", "of busctl"], rows)
