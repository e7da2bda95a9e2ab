# SPDX-License-Identifier: Apache-2.0
"""Invariant 16 for checks: malicious servers and plugins, and many checks."""

import contextlib
import ssl
import time

from harness.bystander import Bystander
from harness.daemon import Daemon
from harness.expect import equal, eventually
from harness.runner import test
from harness.servers import Certificates, listener

from .test_freezing import DURATION, stop_and_time


@test("a response of a megabyte that almost matches the expected text everywhere delays nobody")
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
            eventually(lambda: "not found in" in daemon.text("web"))
            stop_and_time(daemon)


def flood(answer):
    """A listener's handler that reads a request, sends `answer`, and then repeats `answer`'s last part endlessly."""
    def send(connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(answer[0])
            while True:
                connection.sendall(answer[1])

    return send


@test("a response with an endless trailer is rejected, and costs no memory", limit=60)
def endless_trailer():
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    with listener(flood((start, b"a: b\r\n" * 10_000))) as port:
        check = f"{{ http: {{ url: 'http://127.0.0.1:{port}/', contains: b }}, timeout: 5s, interval: 100ms }}"
        with Daemon(f"servers: {{ web: {check} }}\n") as daemon:
            with Bystander(daemon) as bystander:
                eventually(lambda: daemon.text("web") == "the response header is too large", "a refused answer")
                time.sleep(DURATION)
                grown = (daemon.resident() - bystander.before[0]) / 1024
                bystander.finish("an answer whose trailer has no end")
            assert grown < 64, f"the daemon grew by {grown:.0f} MB"
            stop_and_time(daemon)


@test("an https server that offers HTTP/2 and sends frames endlessly delays nobody", limit=60)
def endless_frames():
    settings, unknown = b"\0\0\0\x04\0\0\0\0\0", b"\0\0\0\xfa\0\0\0\0\0"
    with Certificates() as authority:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.make("good"))
        context.set_alpn_protocols(["h2"])

        protocols = set()

        def handle(connection):
            with contextlib.suppress(OSError):
                connection = context.wrap_socket(connection, server_side=True)
                protocols.add(connection.selected_alpn_protocol())
                flood((settings, unknown * 500_000))(connection)

        with listener(handle) as port:
            check = f"{{ http: {{ url: 'https://localhost:{port}/', ca: {authority.ca} }}, timeout: 2s, interval: 100ms }}"
            with Daemon(f"servers: {{ web: {check} }}\n") as daemon:
                with Bystander(daemon) as bystander:
                    eventually(lambda: (daemon.describe("web").get("status") or {}).get("level") == "critical", "a critical server")
                    time.sleep(DURATION)
                    bystander.finish("an https server that sends frames without end")
                stop_and_time(daemon)
        # libcurl 7.88 would read them as they arrive, past any timeout.
        equal(protocols, {None}, "protocols agreed upon")


@test("an https server that sends session tickets endlessly delays nobody", limit=60)
def endless_tickets():
    with Certificates() as authority:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.make("good"))
        # OpenSSL makes the requested number of tickets before it sends anything else.
        context.num_tickets = 1_000_000
        connections = []

        def handle(connection):
            with contextlib.suppress(OSError):
                connections.append(context.wrap_socket(connection, server_side=True))

        with listener(handle) as port:
            check = f"{{ http: {{ url: 'https://localhost:{port}/', ca: {authority.ca} }}, timeout: 2s, interval: 100ms }}"
            with Daemon(f"servers: {{ web: {check} }}\n") as daemon:
                with Bystander(daemon) as bystander:
                    eventually(lambda: daemon.text("web") == "no answer within 2s", "a critical server")
                    time.sleep(DURATION)
                    bystander.finish("an https server that sends session tickets without end")
                stop_and_time(daemon)


@test("ten thousand checks that wait for a slot delay nobody", limit=120)
def many_checks():
    with listener() as port:
        servers = "".join(f"  s{n}: {{ tcp: '127.0.0.1:{port}', interval: 5s }}\n" for n in range(10_000))
        with Daemon("defaults: { timeout: 2s }\nservers:\n" + servers) as daemon:
            with Bystander(daemon) as bystander:
                time.sleep(2 * DURATION)
                bystander.finish("10,000 tcp checks")
            stop_and_time(daemon)
