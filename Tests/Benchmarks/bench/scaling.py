# SPDX-License-Identifier: Apache-2.0
"""The cost of each update with more servers and more watchers."""

import itertools
import json
import selectors
import time

from . import figures
from .processes import receive, statusd

POSTS = 100_000
# Grows over all posts, so that none repeats a server's text, which would be no change and cost less.
texts = itertools.count()


# The distance from one posted server to the next: in order of addition, or in no order, so that nothing of the next one is in
# the processor's caches.
ORDERS = {"in turn": 1, "in no order": 7919}


def cost_of_posts(daemon, servers, posts, step):
    """Microseconds of the daemon's processor time for each of many posts, spread over the servers."""
    call = '{{"method":"org.statusd.monitor.Post","parameters":{{"server":"srv{}","text":"Signed In ({:010})"}},"oneway":true}}\0'
    with daemon.connect() as connection:
        chunks = [
            "".join(call.format(number * step % servers, next(texts)) for number in range(first, first + 500)).encode()
            for first in range(0, posts, 500)
        ]
        before = processor_time(daemon)
        for chunk in chunks:
            connection.sendall(chunk)
        connection.sendall(b'{"method":"org.varlink.service.GetInfo"}\0')
        receive(connection)
        return (processor_time(daemon) - before) / posts * 1e6


def processor_time(daemon):
    """Seconds of processor time of the daemon, also of threads that have ended, to the nanosecond."""
    return time.clock_gettime(~daemon.process.pid << 3 | 2)  # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED), as clock_getcpuclockid(3)


def servers_report(rounds, scale):
    counts = [10, 1000, 10_000, 100_000]
    costs = {(count, order): [] for count in counts for order in ORDERS}
    for _ in range(rounds):
        for count in counts:
            # A configuration file is at most 1 MiB.
            drop_ins = [push_servers(first, min(first + 10_000, count)) for first in range(0, count, 10_000)]
            with statusd("accept: configured\n", drop_ins) as daemon:
                cost_of_posts(daemon, count, max(count, 10_000), 1)
                for order, step in ORDERS.items():
                    costs[count, order].append(cost_of_posts(daemon, count, int(POSTS * scale), step))
    rows = []
    for count in counts:
        rows.append([f"{count:,}"])
        for order in ORDERS:
            rows[-1] += [figures.spread(costs[count, order]), figures.ratio(costs[count, order], costs[10, order])]
    header = [column for order in ORDERS for column in (f"a post {order}, µs", "of 10 servers")]
    return figures.table(["servers", *header], rows)


def push_servers(first, last):
    return "servers:\n" + "".join(f"  srv{number}: {{ push: true }}\n" for number in range(first, last))


def cost_of_watchers(daemon, watchers, posts):
    """Microseconds for each post until all watchers have it, one post at a time."""
    selector = selectors.DefaultSelector()
    connections = []
    call = {"method": "org.statusd.monitor.Watch", "parameters": {"server": "srv0"}, "more": True}
    for _ in range(watchers):
        connection = daemon.connect()
        connection.sendall(json.dumps(call).encode() + b"\0")
        receive(connection)
        selector.register(connection, selectors.EVENT_READ)
        connections.append(connection)
    with daemon.connect() as poster:
        before = processor_time(daemon)
        for number in range(posts):
            text = f"Signed In ({time.monotonic_ns()})"
            poster.sendall(
                b'{"method":"org.statusd.monitor.Post","parameters":{"server":"srv0","text":"%s"},"oneway":true}\0'
                % text.encode())
            waiting = set(connections)
            while waiting:
                for key, _ in selector.select(10):
                    if key.fileobj.recv(65536).endswith(b"\0"):
                        waiting.discard(key.fileobj)
        cost = (processor_time(daemon) - before) / posts * 1e6
    for connection in connections:
        connection.close()
    return cost


def watchers_report(rounds, scale):
    counts = [1, 10, 100]
    costs = {count: [] for count in counts}
    with statusd() as daemon:
        daemon.post_to(["srv0"])
        for _ in range(rounds):
            for count in counts:
                costs[count].append(cost_of_watchers(daemon, count, int(1000 * scale) or 10))
    rows = [[count, figures.spread(costs[count]), figures.ratio(costs[count], costs[1])] for count in counts]
    return figures.table(["watchers", "processor time a post, µs", "of one"], rows)


def report(rounds, scale):
    return ["**Scaling**.", ""] + servers_report(rounds, scale) + [""] + watchers_report(rounds, scale)
