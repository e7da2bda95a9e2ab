# SPDX-License-Identifier: Apache-2.0
"""statusd-web: requests that no honest client sends get one refusal, or none, and nothing behind them is answered."""

import contextlib
import socket

from harness.daemon import Daemon
from harness.expect import equal
from harness.runner import test
from harness.site import Site

SERVERS = "accept: any\nservers: { db: { push: true } }\n"
HOST = b"Host: localhost"
HIDDEN = b"GET /api/list HTTP/1.1\r\n" + HOST + b"\r\n\r\n"
"""A request behind a malformed one: if it were answered, a proxy could be made to give the answer to another visitor (smuggling)."""


def get(*fields, line=b"GET / HTTP/1.1", body=b""):
    return b"\r\n".join([line, HOST, *fields, b"", body])


def post(*fields, body=b""):
    return get(*fields, line=b"POST /api/select HTTP/1.1", body=body)


CHUNKED = b"Transfer-Encoding: chunked"

MALFORMED = {
    "zero bytes": b"\x00" * 100, "no text": b"\xff\xfe\r\n\r\n", "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n", "SOCKS": b"\x05\x01\x00", "a proxy's line": b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n" + get(),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    "HTTP/0.9": b"GET /\r\n\r\n", "version 0.9": get(line=b"GET / HTTP/0.9"), "version 1.2": get(line=b"GET / HTTP/1.2"),
    "version 2.0": get(line=b"GET / HTTP/2.0"), "version 9.9": get(line=b"GET / HTTP/9.9"), "version 1.10": get(line=b"GET / HTTP/1.10"),
    "version 1": get(line=b"GET / HTTP/1"), "no version number": get(line=b"GET / HTTP/"),
    "lower case": get(line=b"get / http/1.1"), "no target": b"GET\r\n\r\n", "no method": get(line=b" / HTTP/1.1"), "unknown method": get(line=b"BREW / HTTP/1.1"),
    "a tab in the line": get(line=b"GET\t/ HTTP/1.1"), "a zero byte in the target": get(line=b"GET /\x00 HTTP/1.1"),
    "a line feed in the target": get(line=b"GET /\n HTTP/1.1"), "a blank in the target": get(line=b"GET /a b HTTP/1.1"),
    "a very long target": get(line=b"GET /" + b"a" * 100_000 + b" HTTP/1.1"), "a very long method": b"G" * 100_000 + b" / HTTP/1.1\r\n\r\n",
    "a field without a colon": get(b"Nothing"), "a field without a name": get(b": a"), "a blank in a name": get(b"X y: a"),
    "a blank before the colon": post(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n" + HIDDEN), "a zero byte in a name": get(b"X\x00: a"),
    "a zero byte in a value": get(b"X: a\x00b"), "a control character in a value": get(b"X: a\x01b"), "a carriage return in a value": get(b"X: a\rb"),
    "a folded field": get(b"X: a\r\n b"), "a folded first field": b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "a folded length": post(b"Content-Length:\r\n 3", body=b"abc"), "100 fields": get(*[b"X: a"] * 100), "a long field": get(b"X: " + b"a" * 10_000),
    "long fields": get(*[b"X: " + b"a" * 4000] * 5), "a long name": get(b"X" * 10_000 + b": a"), "a long host": b"GET / HTTP/1.1\r\nHost: " + b"a" * 20_000 + b"\r\n\r\n",
    "two lengths": post(b"Content-Length: 1", b"Content-Length: 2", body=b"ab" + HIDDEN), "the same length twice": post(b"Content-Length: 2", b"Content-Length: 2", body=b"{}"),
    "lengths with a comma": post(b"Content-Length: 2, 2", body=b"{}"), "a negative length": post(b"Content-Length: -1"), "a length with a sign": post(b"Content-Length: +2", body=b"{}"),
    "a hexadecimal length": post(b"Content-Length: 0x2", body=b"{}"), "an empty length": post(b"Content-Length:"), "a blank in a length": post(b"Content-Length: 1 2", body=b"{}"),
    "an enormous length": post(b"Content-Length: 99999999999999999999999"), "the length 2^64 + 2": post(b"Content-Length: 18446744073709551618", body=b"{}"),
    "both kinds of length": post(CHUNKED, b"Content-Length: 3", body=b"0\r\n\r\n" + HIDDEN), "both, in the other order": post(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n" + HIDDEN),
    "the encoding gzip": post(b"Transfer-Encoding: gzip"), "the encoding identity": post(b"Transfer-Encoding: identity", body=HIDDEN),
    "chunked, and another": post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + HIDDEN), "nearly chunked": post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunked in two fields": post(CHUNKED, b"Transfer-Encoding: identity", body=b"0\r\n\r\n" + HIDDEN), "a chunk without a length": post(CHUNKED, body=b"\r\nabc\r\n"),
    "a chunk of letters": post(CHUNKED, body=b"zz\r\n"), "a negative chunk": post(CHUNKED, body=b"-1\r\n"), "an enormous chunk": post(CHUNKED, body=b"fffffffffffffffff\r\n"),
    "a chunk with 0x": post(CHUNKED, body=b"0x2\r\n{}\r\n0\r\n\r\n"), "a chunk that is longer": post(CHUNKED, body=b"2\r\nabc\r\n0\r\n\r\n"),
    "many bytes behind a chunk": post(CHUNKED, body=b"1\r\na" + HIDDEN),
    "a body of 1 MB": post(b"Content-Length: 1000000", body=b"a" * 100_000), "chunks of 1 MB": post(CHUNKED, body=b"10000\r\n" + b"a" * 65536),
    "CONNECT": get(line=b"CONNECT localhost:80 HTTP/1.1", body=HIDDEN), "CONNECT of a path": get(line=b"CONNECT / HTTP/1.1", body=HIDDEN),
    "waits for 100": post(b"Expect: 100-continue", b"Content-Length: 2"), "expects something": get(b"Expect: nothing"),
    "line feeds alone": b"GET / HTTP/1.1\nHost localhost\n\n", "only a carriage return": b"GET / HTTP/1.1\rHost: localhost\r\r",
}
"""What ends the connection, with or without an answer."""

REFUSED = {
    "a proxy's target": get(line=b"GET http://localhost/ HTTP/1.1"), "a target without a slash": get(line=b"GET api/list HTTP/1.1"),
    "everything": get(line=b"GET * HTTP/1.1"), "the options of everything": get(line=b"OPTIONS * HTTP/1.1"), "TRACE": get(line=b"TRACE / HTTP/1.1"),
    "another host": b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "no host": b"GET / HTTP/1.1\r\n\r\n", "an empty host": b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "a host with a path": b"GET / HTTP/1.1\r\nHost: evil.example/localhost\r\n\r\n",
    "folders above": get(line=b"GET /../../etc/passwd HTTP/1.1"), "escaped folders above": get(line=b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1"),
    "escaped slashes": get(line=b"GET /..%2f..%2fetc%2fpasswd HTTP/1.1"), "backslashes": get(line=b"GET /..\\..\\etc\\passwd HTTP/1.1"),
    "an escaped zero byte": get(line=b"GET /page.js%00.svg HTTP/1.1"), "half an escape": get(line=b"GET /%2 HTTP/1.1"), "invalid UTF-8": get(line=b"GET /%ff%fe HTTP/1.1"),
    "script in a name": get(line=b"GET /<script> HTTP/1.1"), "an escaped line break": get(line=b"GET /badge/a%0d%0aX:1.svg HTTP/1.1"),
    "a body of the wrong type": post(b"Content-Length: 15", body=b'{"server":"db"}'), "PUT": get(b"Content-Length: 2", line=b"PUT /db HTTP/1.1", body=b"{}"),
    "DELETE": get(line=b"DELETE /db HTTP/1.1"), "another method": get(b"X-HTTP-Method-Override: GET", line=b"PATCH /db HTTP/1.1"),
}
"""What is well-formed, but not answered with anything."""

HARMLESS = {
    "HTTP/2 over an upgrade": get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQ", body=HIDDEN),
    "a web socket": get(b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", body=b"\x81\x05hello"),
    "ranges": get(b"Range: bytes=0-1,2-3," + b"5-," * 500, b"Connection: close"), "HTTP/1.0": b"GET / HTTP/1.0\r\n\r\n", "another protocol": get(line=b"GET / RTSP/1.0"), "empty lines before": b"\r\n" * 1000 + get(b"Connection: close"),
    "a chunk extension": get(CHUNKED, b"Connection: close", body=b"1;a=b\r\nx\r\n0\r\n\r\n"), "fields behind a body": get(CHUNKED, b"Connection: close", body=b"0\r\nHost: evil.example\r\n\r\n"),
    "something behind the last request": get(b"Connection: close", body=HIDDEN), "letters of Latin-1": get(b"X: \xe4", b"Connection: close"), "an unknown compression": get(b"Accept-Encoding: " + b"gzip," * 500, b"Connection: close"),
}
"""What is answered as if the strange part were not there."""


def answers(connection):
    """The answers on a connection up to its end: status and body."""
    connection.settimeout(15)
    received = b""
    with contextlib.closing(connection), contextlib.suppress(ConnectionError):
        while chunk := connection.recv(65536):
            received += chunk
    found = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        length = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:"))
        found.append((int(lines[0].split(b" ")[1]), received[:length]))
        received = received[length:]
    return found


def ask(site, requests, ends):
    """Sends each on a connection of its own, at the same time; yields its name and the answers. `ends`: the client ends its side."""
    connections = {name: site.raw() for name in requests}
    for name, connection in connections.items():
        with contextlib.suppress(ConnectionError):
            connection.sendall(requests[name])
            if ends:
                connection.shutdown(socket.SHUT_WR)
    for name, connection in connections.items():
        yield name, answers(connection)


@test("web: malformed requests end the connection after at most one refusal; nothing that is hidden behind them is answered")
def malformed():
    with Daemon(SERVERS) as daemon, Site(daemon) as site:
        # A refusal behind an answer that the daemon makes.
        behind = {name: HIDDEN + data for name, data in MALFORMED.items()}
        for name, found in ask(site, behind, ends=False):
            assert [status // 100 for status, _ in found] in ([2], [2, 4]), f"{name}, behind a good one: {found}"
        for name, found in ask(site, MALFORMED, ends=False):
            assert [status // 100 for status, _ in found] in ([], [4]), f"{name}: {found}"
        equal(site.get("/api/list")[0], 200)


@test("web: what is well-formed, but for another host, file or method, is refused; what is only strange changes nothing")
def strange():
    with Daemon(SERVERS) as daemon, Site(daemon, "--actions") as site:
        for name, found in ask(site, REFUSED, ends=True):
            assert [status // 100 for status, _ in found] == [4] and b"root:" not in found[0][1], f"{name}: {found}"
        for name, found in ask(site, HARMLESS, ends=False):
            assert [status for status, _ in found] == [200] and b"<title>" in found[0][1], f"{name}: {found}"
