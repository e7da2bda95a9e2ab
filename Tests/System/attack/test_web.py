# SPDX-License-Identifier: Apache-2.0
"""Attacks on statusd-web: a good visitor always gets an answer, a stream goes on, and the memory is bounded."""

import contextlib
import resource
import selectors
import socket
import time

from harness.daemon import Daemon
from harness.expect import equal
from harness.good_visitor import GoodVisitor
from harness.runner import test
from harness.site import Events, Site, waiting

SERVERS = "accept: any\nservers: { db: { push: true } }\n"
DURATION = 1.5
GROWTH = 24 * 1024
"""How much memory visitors may take, in KiB: a thousand connections with a request each."""


def percentile(times, part):
    return times[min(len(times) - 1, int(len(times) * part))]


def attacked(about, attack):
    """Compares what a good visitor sees before `attack(site)` and meanwhile; another one follows events."""
    # More than the daemon and its page may have: the attacker is not short of anything.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Daemon(SERVERS) as daemon, Site(daemon) as site, Events(site) as stream:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
        try:
            stream.next("snapshot")
            size = site.number("VmRSS")
            with GoodVisitor(site) as visitor:
                for _ in waiting(DURATION):
                    time.sleep(0.01)
                usual = visitor.finish()
            with GoodVisitor(site) as visitor:
                number = attack(site)
                found = visitor.finish()
            daemon.done("post", "db", "after the attack")
            equal(stream.next("changed")["server"]["status"]["text"], "after the attack")
            equal((site.process.poll(), site.number("Threads")), (None, 1))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        grown = site.number("VmHWM") - size
        p50 = [percentile(times[0], 0.5) for times in (usual, found)]
        p99 = [percentile(times[index], 0.99) for index in (0, 1) for times in (usual, found)]
        print(f"     {about} ({number}): p50 {p50[0]:.2f} -> {p50[1]:.2f} ms, p99 {p99[0]:.2f} -> {p99[1]:.2f} ms, {p99[1] / p99[0]:.1f} x;"
              f" newcomers' p99 {p99[2]:.2f} -> {p99[3]:.2f} ms, {p99[3] / p99[2]:.1f} x, worst {found[1][-1]:.1f} ms;"
              f" {len(found[0])} answers, {len(found[1])} to newcomers; {size / 1024:.1f} MB and {grown / 1024:.1f}", flush=True)
        assert grown < GROWTH, f"{size} KiB, and {grown} more"


@test("web: ten thousand connections with half a request each")
def many_connections():
    def attack(site):
        with contextlib.ExitStack() as stack:
            for _ in range(10_000):
                connection = stack.enter_context(socket.socket())
                connection.connect(("127.0.0.1", site.port))
                with contextlib.suppress(OSError):
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: local")
            for _ in waiting(DURATION):
                time.sleep(0.01)
        return 10_000

    attacked("ten thousand connections", attack)


@test("web: nine hundred connections that send a byte now and then")
def slow_requests():
    def attack(site):
        with selectors.DefaultSelector() as ready:
            def connect():
                connection = socket.create_connection(("127.0.0.1", site.port))
                connection.setblocking(False)
                with contextlib.suppress(OSError):
                    connection.sendall(b"GET / HTTP/1.1\r\nX: ")
                    ready.register(connection, selectors.EVENT_READ)
                return connection

            connections, ended = [connect() for _ in range(900)], 0
            for _ in waiting(DURATION):
                for index in range(0, 900, 20):
                    with contextlib.suppress(OSError):
                        connections[index].send(b"x")
                for key, _ in ready.select(0):
                    ready.unregister(key.fileobj)
                    key.fileobj.close()
                    connections[connections.index(key.fileobj)] = connect()
                    ended += 1
                time.sleep(0.01)
            for connection in connections:
                connection.close()
        return 900 + ended

    attacked("slow requests", attack)


@test("web: malformed requests, each on a connection of its own, as fast as they are refused")
def malformed_requests():
    def attack(site):
        number = 0
        for _ in waiting(DURATION):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", site.port)) as connection:
                connection.sendall(b"BREW / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
                connection.recv(4096)
            number += 1
        return number

    attacked("malformed requests", attack)
