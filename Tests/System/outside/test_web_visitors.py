# SPDX-License-Identifier: Apache-2.0
"""statusd-web: visitors who are rude must neither end it, nor fill its memory, nor delay others."""

import contextlib
import json
import signal
import socket
import time

from harness.daemon import Daemon
from harness.expect import equal, eventually
from harness.runner import test
from harness.site import Events, Site

SERVERS = "accept: any\nservers: { db: { push: true } }\n"
GET = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIST = b"GET /api/list HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextlib.contextmanager
def visited(*arguments):
    """A site that must still be the same process, answer at once, and be about as large as before at the end."""
    with Daemon(SERVERS) as daemon, Site(daemon, *arguments) as site:
        before, process = site.number("VmRSS"), site.process.pid
        yield site
        equal(site.process.poll(), None)
        began = time.monotonic()
        equal(site.get("/api/list")[0], 200)
        assert time.monotonic() - began < 5
        equal((site.process.pid, site.number("Threads")), (process, 1))
        assert site.number("VmRSS") < before + 12 * 1024, f"{before} KiB became {site.number('VmRSS')}"


def flood(site, head, chunk, megabytes):
    """Sends chunks and reads nothing, until so much is sent or nobody takes more."""
    with contextlib.closing(site.raw(head)) as connection, contextlib.suppress(OSError):
        connection.settimeout(1)
        for _ in range(megabytes * (1 << 20) // len(chunk)):
            connection.sendall(chunk)


@test("web: requests behind an event stream on a connection that ends are dropped")
def pipelined_stream():
    with visited() as site:
        for _ in range(50):
            with contextlib.closing(site.raw(GET + LIST * 20)) as connection:
                connection.recv(100)
            with contextlib.closing(site.raw(LIST * 3 + GET + LIST)) as connection:
                connection.shutdown(socket.SHUT_WR)


@test("web: what follows “Upgrade:” is not kept, nor a body, nor endless header fields")
def endless_input():
    with visited() as site:
        flood(site, b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", b"x" * 65536, 64)
        flood(site, b"CONNECT / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"x" * 65536, 64)
        flood(site, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n", b"x" * 65536, 64)
        flood(site, b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X-A: " + b"x" * 1000 + b"\r\n", 16)
        flood(site, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * 65536, 16)
        flood(site, b"GET /", b"x" * 65536, 16)
        flood(site, b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x" * 65536, 16)


@test("web: who sends many requests, and nothing more, while an answer lasts, does not fill the memory with them")
def many_ahead():
    with visited() as site, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(contextlib.closing(site.raw(GET))) for _ in range(100)]
        for stream in streams:
            assert stream.recv(100).startswith(b"HTTP/1.1 200 OK")
        for stream in streams:
            stream.setblocking(False)
            with contextlib.suppress(OSError):
                stream.send(b"GET / HTTP/1.1\r\n\r\n" * 2000)
                stream.shutdown(socket.SHUT_WR)
        # They lose their connections.
        for stream in streams:
            stream.settimeout(15)
            with contextlib.suppress(ConnectionError):
                while stream.recv(65536):
                    pass


@test("web: answers wait until the visitor reads them; who does not read events gets the present state later")
def not_reading():
    with visited() as site:
        # Not too many before one answer; see above.
        flood(site, b"", LIST.replace(b"\r\n\r\n", b"\r\nX: " + b"x" * 300 + b"\r\n\r\n") * 100, 32)
        with contextlib.closing(site.raw(GET)) as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with site.daemon.connect() as connection:
                for number in range(4000):
                    connection.send("Post", {"server": "db", "text": f"{number} " + "x" * 900}, oneway=True)
                connection.call("List")
            received = b""
            lazy.settimeout(10)
            while b"3999 " not in received[-200_000:]:
                received += lazy.recv(65536)
            kinds = [json.loads(line[6:])["kind"] for line in received.decode().split("\n") if line.startswith("data: {") and line.endswith("}")]
            assert "gap" in kinds and kinds.count("snapshot") >= 2, kinds


@test("web: with all connections taken by visitors who say nothing, another one still gets an answer")
def many_connections():
    with visited() as site, contextlib.ExitStack() as stack:
        for number in range(1400):
            stack.enter_context(contextlib.closing(site.raw(b"GET / HT" if number % 2 else b"")))
        before = site.seconds()
        equal(site.get("/api/list")[0], 200)
        assert site.seconds() - before < 1


@test("web: with few descriptors, it has room for new visitors, goes on with its streams, and does not turn in circles")
def few_descriptors():
    with Daemon(SERVERS) as daemon, Site(daemon, descriptors=64) as site, Events(site) as stream, contextlib.ExitStack() as stack:
        stream.next("snapshot")
        for _ in range(200):
            stack.enter_context(contextlib.closing(site.raw()))
        equal(site.get("/api/list")[0], 200)
        before = site.seconds()
        for _ in range(2):
            equal(stream.next("alive", "disconnected")["kind"], "alive")
        assert site.seconds() - before < 1
        equal(site.get("/api/list")[0], 200)


@test("web: half of the connections can be event streams, also those that go on behind an event from before the page started")
def streams():
    with Daemon(SERVERS) as daemon:
        for number in range(5):
            daemon.done("post", "db", f"text {number}")
        with Site(daemon, descriptors=128) as site, Events(site) as first:
            first.next("snapshot")
            ask = f"GET /events?since={first.last.split('.')[0]}.0 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            visitors = [site.raw(ask) for _ in range(60)]
            answers = [visitor.recv(12) for visitor in visitors]
            equal(answers.count(b"HTTP/1.1 200"), 39, str(answers))
            for visitor in visitors:
                visitor.close()


@test("web: a page that was frozen answers those who wait, and its streams go on")
def frozen():
    with visited() as site, Events(site) as stream:
        stream.next("snapshot")
        site.process.send_signal(signal.SIGSTOP)
        waiting = [site.raw(LIST) for _ in range(100)]
        site.daemon.done("post", "db", "meanwhile")
        site.process.send_signal(signal.SIGCONT)
        for connection in waiting:
            with contextlib.closing(connection):
                assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
        equal(stream.next("changed")["server"]["status"]["text"], "meanwhile")


@test("web: visitors who ask much at once, and do not read, use up neither memory nor the daemon's connections")
def many_questions():
    with Daemon("accept: any\nlimits: { servers: 4096 }\n") as daemon, Site(daemon) as site, Events(site) as stream, contextlib.ExitStack() as stack:
        with daemon.connect() as connection:
            for number in range(1500):
                connection.send("Post", {"server": f"s{number}", "text": "x" * 1000}, oneway=True)
            connection.call("List")
        size = len(site.get("/api/list")[1])
        assert size > 1_500_000, size
        for _ in range(300):
            stack.enter_context(contextlib.closing(site.raw(LIST)))
        for _ in range(5):
            equal(site.get("/badge/s1.svg")[0], 200)
        equal(stream.next("alive", "disconnected")["kind"], "alive")
        eventually(lambda: site.get("/health")[0] == 200, "an answer")
        assert site.number("VmHWM") < 200 * 1024, f"300 answers of {size} bytes took {site.number('VmHWM')} KiB"


@test("web: it ends at once when it is stopped, with streams and half requests open, and a new one takes over the socket")
def stopping():
    with Daemon(SERVERS) as daemon, Site(daemon) as site:
        streams = [Events(site) for _ in range(20)]
        half = [site.raw(b"GET / HTTP/1.1\r\n") for _ in range(20)]
        for stream in streams:
            stream.next("snapshot")
        began = time.monotonic()
        equal(site.stop(), 0)
        assert time.monotonic() - began < 5
        waiting = [site.raw(LIST) for _ in range(70)]
        site.start()
        for connection in waiting:
            with contextlib.closing(connection):
                assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
        for connection in half:
            connection.close()
        for stream in streams:
            stream.close()
        eventually(lambda: site.get("/health")[0] == 200, "the page")
