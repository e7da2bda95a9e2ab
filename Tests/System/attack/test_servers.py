# SPDX-License-Identifier: Apache-2.0
"""Invariant 16 for what is checked: servers and plugins that mean ill, and many checks."""

import time

from harness.bystander import Bystander
from harness.daemon import Daemon
from harness.expect import eventually
from harness.runner import test
from harness.servers import listener

from .test_freezing import DURATION, stop_and_time


@test("a body of a megabyte in which the wanted text is almost everywhere holds up nobody")
def almost_contained():
    body = b"a" * (1 << 20)
    answers = []

    def answer(connection):
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
            answers.append(1)

    with listener(answer) as port:
        check = f"{{ http: {{ url: 'http://127.0.0.1:{port}/', contains: {'a' * 500}b }}, interval: 100ms }}"
        with Daemon(f"servers: {{ web: {check}, other: {check} }}\n") as daemon:
            with Bystander(daemon) as bystander:
                eventually(lambda: len(answers) > 10, "checks")
                bystander.finish("a body in which the wanted text almost is")
            eventually(lambda: "is not in" in daemon.text("web"))
            stop_and_time(daemon)


@test("ten thousand checks that wait for a slot hold up nobody", limit=120)
def many_checks():
    with listener() as port:
        servers = "".join(f"  s{n}: {{ tcp: '127.0.0.1:{port}', interval: 5s }}\n" for n in range(10_000))
        with Daemon("defaults: { timeout: 2s }\nservers:\n" + servers) as daemon:
            with Bystander(daemon) as bystander:
                time.sleep(2 * DURATION)
                bystander.finish("10,000 tcp checks")
            stop_and_time(daemon)
