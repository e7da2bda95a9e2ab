# SPDX-License-Identifier: Apache-2.0
"""http: methods, redirects, cookies, encodings, bodies without an end, and the reasons why a host cannot be reached."""

import contextlib
import email
import gzip
import itertools
import os
import sys
import zlib

from harness.daemon import Daemon
from harness.expect import Skip, equal, eventually
from harness.runner import test
from harness.servers import listener

from .test_network_checks import expect, in_small_network, of_host, once

# Longer than `expect` waits: whoever waits for the timeout fails.
PATIENT = "timeout: 60s"


@contextlib.contextmanager
def answering(*answers, until_closed=False):
    """A server that sends the pieces of `answer(method, path, headers)`, and closes the connection after the last one.

    Yields the ports, one for each of the answers, and the requests: method, path and header of each.
    """
    requests = []

    def handler(answer):
        def handle(connection):
            with connection, contextlib.suppress(OSError):
                received = b""
                while b"\r\n\r\n" not in received:
                    data = connection.recv(65536)
                    if not data:
                        return
                    received += data
                line, _, fields = received.decode("latin-1").partition("\r\n")
                method, path, _ = line.split(" ")
                headers = email.message_from_string(fields)
                requests.append((method, path, headers))
                for piece in answer(method, path, headers):
                    piece(connection) if callable(piece) else connection.sendall(piece)
                if until_closed:
                    connection.recv(1)

        return handle

    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(listener(handler(answer))) for answer in answers], requests


def response(code, body=b"", **fields):
    """A response with the length of its body; underscores in names of fields stand for hyphens."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {code} Text\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


@test("http: POST, PUT and PATCH without a body say that its length is 0; other methods say nothing of a body")
def content_length():
    lengths = {"POST": "0", "PUT": "0", "PATCH": "0", "GET": None, "HEAD": None, "DELETE": None, "OPTIONS": None}

    def answer(method, path, headers):
        yield response(411 if method in ("POST", "PUT", "PATCH") and "Content-Length" not in headers else 200)

    with answering(answer) as ((port,), requests):
        url = f"http://127.0.0.1:{port}"
        lines = [f"{method}: {{ http: {{ url: {url}, method: {method} }} }}" for method in lengths]
        lines.append(f"typed: {{ http: {{ url: {url}/typed, method: POST, headers: {{ Content-Type: text/plain }} }} }}")
        with Daemon(once(*lines)) as daemon:
            for name in (*lengths, "typed"):
                expect(daemon, name, "ok", "HTTP 200 in ")
        for method, path, headers in requests:
            equal(headers["Content-Length"], lengths[method], f"Content-Length of {method}")
            equal(headers["Content-Type"], "text/plain" if path == "/typed" else None, f"Content-Type of {method} {path}")


@test("http: after a 303 the method is GET; POST also becomes GET after 301 and 302, as in browsers; 307 and 308 keep it")
def method_after_redirect():
    def answer(method, path, headers):
        yield response(200) if path == "/end" else response(path[1:4], Location=path[4:] or "/end")

    def follow(method, path):
        with answering(answer) as ((port,), requests):
            with Daemon(once(f"web: {{ http: {{ url: 'http://127.0.0.1:{port}{path}', method: {method} }} }}")) as daemon:
                expect(daemon, "web", "ok", "HTTP 200 in ")
            for sent, _, headers in requests:
                equal(headers["Content-Length"], "0" if sent in ("POST", "PUT", "PATCH") else None, f"length of {sent}")
            return [sent for sent, *_ in requests]

    for method, codes in {"POST": (301, 302, 303), "PUT": (303,), "PATCH": (303,), "DELETE": (303,), "HEAD": ()}.items():
        for code in (301, 302, 303, 307, 308):
            after = "GET" if code in codes else method
            equal(follow(method, f"/{code}"), [method, after], f"{method} and {code}")
    equal(follow("PUT", "/307/302/303/308"), ["PUT", "PUT", "PUT", "GET", "GET"])


@test("http: 300, 304, 305 and 306 are no redirects to follow, whatever their Location says")
def other_redirections():
    def answer(method, path, headers):
        yield response(200) if path == "/end" else response(path[1:4], Location="/end")

    with answering(answer) as ((port,), requests):
        url = f"http://127.0.0.1:{port}"
        lines = [f"s{code}: {{ http: {url}/{code} }}" for code in (300, 304, 305, 306)]
        lines.append(f"wanted: {{ http: {{ url: {url}/300, status: 300 }} }}")
        with Daemon(once(*lines)) as daemon:
            for code in (300, 304, 305, 306):
                expect(daemon, f"s{code}", "critical", f"expected 200-299, got {code}")
            expect(daemon, "wanted", "ok", "HTTP 300 in ")
        assert "/end" not in [path for _, path, _ in requests], requests


@test("http: a cookie that a redirect sets is sent to its site, and forgotten with the end of the check")
def cookies():
    def answer(method, path, headers):
        sent = headers["Cookie"] or ""
        if path == "/" and "seen=" not in sent:
            yield response(302, Location="/", Set_Cookie="seen=1; Path=/")
        elif path == "/" and "more=" not in sent:
            yield response(307, Location=f"http://127.0.0.1:{ports[1]}/other", Set_Cookie="more=2; Path=/")
        else:
            yield response(200, b"ready")

    def elsewhere(method, path, headers):
        yield response(302, Location=f"http://localhost:{ports[0]}/back", Set_Cookie="theirs=3")

    with answering(answer, elsewhere) as (ports, requests):
        with Daemon(once(f"web: {{ http: {{ url: 'http://localhost:{ports[0]}/', contains: ready }} }}")) as daemon:
            expect(daemon, "web", "ok", "HTTP 200 in ")
            daemon.done("refresh", "web")
        sent = [headers["Cookie"] for *_, headers in requests]
        equal([value and sorted(value.split("; ")) for value in sent],
              [None, ["seen=1"], None, ["more=2", "seen=1"]] * 2, "cookies")


@test("http: with a configured Cookie, no other cookies are sent")
def configured_cookie():
    def answer(method, path, headers):
        yield response(200) if path == "/end" else response(302, Location="/end", Set_Cookie="seen=1")

    with answering(answer) as ((port,), requests):
        with Daemon(once(f"web: {{ http: {{ url: 'http://127.0.0.1:{port}', headers: {{ cookie: key=a }} }} }}")) as daemon:
            expect(daemon, "web", "ok", "HTTP 200 in ")
        equal([headers.get_all("Cookie") for *_, headers in requests], [["key=a"]] * 2)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


@test("http: a body without an end does not delay a result that the rest cannot change")
def endless_bodies():
    chunked = b"HTTP/1.1 %d Text\r\nTransfer-Encoding: chunked\r\n\r\n"
    ways = {
        "stream": lambda code: itertools.chain([b"HTTP/1.1 %d Text\r\n\r\n" % code], [b"data: ready\n"]),
        "chunks": lambda code: itertools.chain([chunked % code], itertools.repeat(chunk(b"ready"), 3)),
        "length": lambda code: [b"HTTP/1.1 %d Text\r\nContent-Length: 99\r\n\r\nready" % code],
        "silent": lambda code: [chunked % code],
        "continue": lambda code: [b"HTTP/1.1 100 Continue\r\n\r\n" + chunked % code + chunk(b"ready")],
        "pieces": lambda code: [chunked % code + chunk(b"re"), chunk(b"a"), chunk(b"dy")],
        "header": lambda code: [b"HTTP/1.1 %d Text\r\nX: y\r\n" % code],
    }

    def answer(method, path, headers):
        _, way, code = path.split("/")
        return ways[way](int(code))

    with answering(answer, until_closed=True) as ((port,), _):
        def server(name, path, more=""):
            return f"{name}: {{ {PATIENT}, http: {{ url: 'http://127.0.0.1:{port}/{path}'{more} }} }}"

        lines = [f"header: {{ timeout: 300ms, http: 'http://127.0.0.1:{port}/header/503' }}"]
        for way in ways:
            if way == "header":
                continue
            lines += [server(f"any-{way}", f"{way}/200"), server(f"bad-{way}", f"{way}/503", ", contains: ready"),
                      server(f"odd-{way}", f"{way}/304"), server(f"head-{way}", f"{way}/200", ", method: HEAD")]
            if way != "silent":
                lines.append(server(f"has-{way}", f"{way}/200", ", contains: ready"))
        lines.append(server("switch", "silent/101", ", status: 101"))
        lines.append(f"late: {{ timeout: 300ms, http: {{ url: 'http://127.0.0.1:{port}/stream/200', contains: steady }} }}")
        with Daemon(once(*lines)) as daemon:
            expect(daemon, "header", "critical", "expected 200-299, got 503, and its header was not complete within 300ms")
            for way in ways:
                if way == "header":
                    continue
                expect(daemon, f"any-{way}", "ok", "HTTP 200 in ")
                expect(daemon, f"head-{way}", "ok", "HTTP 200 in ")
                expect(daemon, f"bad-{way}", "critical", "expected 200-299, got 503")
                expect(daemon, f"odd-{way}", "critical", "expected 200-299, got 304")
                if way != "silent":
                    expect(daemon, f"has-{way}", "ok", "HTTP 200 in ")
            expect(daemon, "switch", "ok", "HTTP 101 in ")
            expect(daemon, "late", "critical", "the response was not complete within 300ms")


@test("http: a server that sends a body to its end is not cut off, although the rest cannot change the result")
def polite_end():
    ends = []

    def answer(method, path, headers):
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"
        for _ in range(30):
            yield b"x" * 10_000
        # After unread data, the connection would end with a reset.
        yield lambda connection: connection.recv(1) == b"" and ends.append(path)

    with answering(answer) as ((port,), _):
        with Daemon(once(f"web: {{ http: 'http://127.0.0.1:{port}/web' }}",
                         f"bad: {{ http: {{ url: 'http://127.0.0.1:{port}/bad', status: 503 }} }}")) as daemon:
            expect(daemon, "web", "ok", "HTTP 200 in ")
            expect(daemon, "bad", "critical", "expected 503, got 200")
            for name in "web", "bad":
                # A server that is slower than the check waits gets a reset, so one end of several counts.
                eventually(lambda name=name: daemon.ctl("refresh", name) and f"/{name}" in ends, f"an orderly end of {name}")


@test("http: a body that ends too early is reported if the text might have been in the rest")
def short_body():
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
    with answering(lambda *_: [start]) as ((port,), _):
        url = f"http://127.0.0.1:{port}/"
        with Daemon(once(f"any: {{ http: {url} }}", f"there: {{ http: {{ url: {url}, contains: bc }} }}",
                         f"rest: {{ http: {{ url: {url}, contains: d }} }}")) as daemon:
            expect(daemon, "any", "ok", "HTTP 200 in ")
            expect(daemon, "there", "ok", "HTTP 200 in ")
            expect(daemon, "rest", "critical", "connection closed before the end of the response")


@test("http: the transfer encoding identity is none; others that were not requested are not decoded")
def transfer_encodings():
    body, good = b"ready", ("identity", "Identity", " identity ", "identity, chunked", "chunked")
    bad = ("gzip", "gzip, identity", "identity, gzip", "x-identity", "deflate, chunked", "br", "unknown")
    encodings = good + bad

    def answer(method, path, headers):
        encoding = encodings[int(path[1:])]
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: %s\r\n\r\n" % encoding.encode()
        yield chunk(body) + chunk(b"") if "chunked" in encoding else body

    with answering(answer) as ((port,), _):
        with Daemon(once(*(f"s{number}: {{ http: {{ url: 'http://127.0.0.1:{port}/{number}', contains: ready }} }}"
                           for number in range(len(encodings))))) as daemon:
            for number, encoding in enumerate(encodings):
                if encoding in good:
                    expect(daemon, f"s{number}", "ok", "HTTP 200 in ")
                else:
                    expect(daemon, f"s{number}", "critical", "the response has a transfer encoding that was not requested")


@test("http: a body in an encoding that nobody requested is named; with a configured Accept-Encoding it is decoded")
def content_encodings():
    body = b"all is ready"
    # This brotli stream is not compressed.
    bodies = {"gzip": gzip.compress(body), "x-gzip": gzip.compress(body), "deflate": zlib.compress(body),
              "br": b"\x8b\x05\x80all is ready\x03", "gzip, gzip": gzip.compress(gzip.compress(body)), "unknown": b"?",
              "identity": body}

    def answer(method, path, headers):
        encoding = path[1:].replace("+", ", ")
        yield response(200, bodies[encoding], Content_Encoding=encoding)

    with answering(answer) as ((port,), requests):
        lines = []
        for number, encoding in enumerate(bodies):
            url = f"http://127.0.0.1:{port}/{encoding.replace(', ', '+')}"
            lines += [f"any{number}: {{ http: {url} }}", f"raw{number}: {{ http: {{ url: {url}, contains: ready }} }}",
                      f"no{number}: {{ http: {{ url: {url}, contains: steady }} }}",
                      f"all{number}: {{ http: {{ url: {url}, contains: ready, headers: {{ accept-encoding: 'gzip, br' }} }} }}"]
        with Daemon(once(*lines)) as daemon:
            for number, encoding in enumerate(bodies):
                expect(daemon, f"any{number}", "ok", "HTTP 200 in ")
                named = "" if encoding == "identity" else f", whose content encoding {encoding} was not requested"
                expect(daemon, f"no{number}", "critical")
                equal(daemon.text(f"no{number}"), f"expected “steady”, not found in the response{named}")
                is_plain = encoding in ("identity", "br")
                expect(daemon, f"raw{number}", "ok" if is_plain else "critical")
                if encoding == "unknown":
                    expect(daemon, f"all{number}", "critical", "cannot decode the content encoding unknown of the response")
                else:
                    expect(daemon, f"all{number}", "ok", "HTTP 200 in ")
        equal({headers["Accept-Encoding"] for *_, headers in requests}, {None, "gzip, br"})


@test("http: a body that is not in its encoding is reported as such")
def wrong_encoding():
    with answering(lambda *_: [response(200, b"ready", Content_Encoding="gzip")]) as ((port,), _):
        web = f"{{ url: 'http://127.0.0.1:{port}', contains: ready, headers: {{ Accept-Encoding: gzip }} }}"
        with Daemon(once(f"web: {{ http: {web} }}")) as daemon:
            expect(daemon, "web", "critical", "cannot decode the content encoding gzip of the response")


@test("http: the reason is that of an address which this host can reach, if there is one")
def unreachable_family():
    for host, has_ipv6 in ("both.test", False), ("both.test", True), ("four.test", True):
        with Daemon(of_host(host), prefix=in_small_network(has_ipv6=has_ipv6)) as daemon:
            for server in "cache", "web":
                expect(daemon, server, "critical")
                equal(daemon.text(server), "connection refused", f"{server} of {host}")


NAME_SERVER = """
import fcntl, os, select, socket, struct, subprocess, sys, tempfile, threading

def serve_names():
    while True:
        query, client = names.recvfrom(4096)
        # A query is: ID, flags, four counts, and the name, each part after its length (RFC 1035, section 4.1).
        code = 0 if b"silent" in query else 2 if b"broken" in query else 3
        if code:
            end = query.index(0, 12) + 5
            names.sendto(query[:2] + bytes((0x81, 0x80 + code)) + query[4:6] + bytes(6) + query[12:end], client)

def serve_redirects():
    while True:
        connection, _ = web.accept()
        host = connection.recv(65536).split()[1].decode()[1:]
        connection.sendall(f"HTTP/1.1 302 Found\\r\\nLocation: http://{host}/\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
        connection.close()

with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14s", b"lo", 0x41, b""))  # SIOCSIFFLAGS: up and running
for path, text in ("/etc/resolv.conf", "nameserver 127.0.0.1\\n"), ("/etc/nsswitch.conf", "hosts: dns\\n"):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        subprocess.run(["mount", "--bind", file.name, path], check=True)
names = socket.socket(type=socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))
web = socket.create_server(("127.0.0.1", 80))
daemon = os.getpid()
if os.fork():
    os.execv(sys.argv[1], sys.argv[1:])
for serve in serve_names, serve_redirects:
    threading.Thread(target=serve, daemon=True).start()
select.select([os.pidfd_open(daemon)], [], [])
"""


def with_name_server():
    """The prefix of a command that runs it in a network of its own.

    Its name server is silent about silent.test, fails for broken.test, and knows no other host. A web server at its
    address 127.0.0.1 redirects to the host that is the path.
    """
    if os.getuid() != 0:
        raise Skip("needs root, for a network of its own")
    return "unshare", "-nm", "--", sys.executable, "-c", NAME_SERVER


@test("tcp and http: a host that does not exist, a failed lookup and a silent name server have three texts")
def lookups():
    names = {"missing.test": "host not found: missing.test",
             "broken.test": "cannot look up host broken.test: Temporary failure in name resolution",
             "silent.test": "cannot look up host silent.test: no answer within 2s"}
    kinds = {"tcp": "tcp: '{}:80'", "http": "http: 'http://{}/'", "redirect": "http: 'http://127.0.0.1/{}'"}
    servers = {f"{kind}-{name}": (line.format(name), reason) for kind, line in kinds.items() for name, reason in names.items()}
    with Daemon(once(*(f"{server}: {{ {line}, timeout: 2s }}" for server, (line, _) in servers.items())),
                prefix=with_name_server()) as daemon:
        for server, (_, reason) in servers.items():
            expect(daemon, server, "critical")
            equal(daemon.text(server), reason, server)
