# SPDX-License-Identifier: Apache-2.0
"""certificate, and expires of http: certificates that expire soon, of other hosts, behind STARTTLS, and of hostile servers."""

import contextlib
import datetime
import ssl

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.servers import Certificates, listener, refused_port, web

from .test_network_checks import expect, once


def date(days):
    """The date of the end of a certificate that was made with this last day, which is an hour before the end of the day."""
    return f"{datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days, hours=-1):%Y-%m-%d}"


def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@test("certificate and http: how long a certificate is still valid decides the level, as a share of its life if that is short")
def expiry():
    days = {"fresh": (-40, 24), "soon": (-40, 10), "now": (-40, 2), "today": (-40, 1), "brief": (-3, 3), "late": (-4, 2)}
    levels = {"fresh": ("ok", "expires in 23 days"), "soon": ("warning", "expires in 9 days"), "now": ("critical", "expires in 1 day"),
              "today": ("critical", "expires in less than 1 day"), "brief": ("ok", "expires in 2 days"), "late": ("warning", "expires in 1 day")}
    with Certificates() as authority, contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(web(authority.make(name, first_day=first, last_day=last))) for name, (first, last) in days.items()}
        lines = [line for name, server in servers.items() for line in (
            f"{name}: {{ certificate: {{ host: 'localhost:{server.port}', ca: {authority.ca} }} }}",
            f"web-{name}: {{ http: {{ url: 'https://localhost:{server.port}/', ca: {authority.ca} }} }}")]
        port = servers["soon"].port
        lines += [f"own: {{ certificate: {{ host: 'localhost:{port}', ca: {authority.ca}, expires: 5d }} }}",
                  f"web-own: {{ http: {{ url: 'https://localhost:{port}/', ca: {authority.ca}, expires: 5d }} }}",
                  f"web-never: {{ http: {{ url: 'https://localhost:{servers['today'].port}/', ca: {authority.ca}, expires: false }} }}"]
        with Daemon(once(*lines)) as daemon:
            for name, (level, text) in levels.items():
                expect(daemon, name, level)
                expect(daemon, f"web-{name}", level)
                shown = daemon.text(name)
                contains(shown, f"{text} ({date(days[name][1])}")
                if level == "ok":
                    contains(daemon.text(f"web-{name}"), "HTTP 200 in ")
                else:
                    equal(daemon.text(f"web-{name}"), f"HTTP 200; certificate {shown}")
            expect(daemon, "own", "ok", "expires in 9 days")
            expect(daemon, "web-own", "ok", "HTTP 200 in ")
            expect(daemon, "web-never", "ok", "HTTP 200 in ")
            for name in "soon", "web-soon":
                values = {value["name"]: value for value in daemon.describe(name)["values"]}
                equal(set(values), {"expires", "time"})
                left = values["expires"]
                assert 9 * 86_400 < left["value"] < 10 * 86_400, left
                equal((left["unit"], left["warning"], left["critical"]), ("s", 14 * 86_400, 2 * 86_400))
            equal([value["name"] for value in daemon.describe("web-never")["values"]], ["time"])


@test("certificate: one that is not trusted, expired, not yet valid or for another name is critical, with the reason of http")
def invalid():
    with Certificates() as authority, contextlib.ExitStack() as stack:
        good = stack.enter_context(web(authority.make("good", first_day=-40, last_day=30)))
        servers = {"good": good, "expired": stack.enter_context(web(authority.make("expired", first_day=-30, last_day=-3))),
                   "early": stack.enter_context(web(authority.make("early", first_day=2))),
                   "wrong": stack.enter_context(web(authority.make("wrong", names="DNS:other.example"))),
                   "self": stack.enter_context(web(authority.self_signed("self", "localhost")))}
        lines = [f"{name}: {{ certificate: {{ host: 'localhost:{server.port}', ca: {authority.ca} }} }}" for name, server in servers.items()]
        wrong = servers["wrong"].port
        lines += [f"strange: {{ certificate: 'localhost:{good.port}' }}",
                  f"address: {{ certificate: {{ host: '127.0.0.1:{good.port}', ca: {authority.ca} }} }}",
                  f"six: {{ certificate: {{ host: '127.0.0.1:{good.port}', name: '[::1]', ca: {authority.ca} }} }}",
                  f"named: {{ certificate: {{ host: '127.0.0.1:{wrong}', name: other.example, ca: {authority.ca} }} }}",
                  f"unnamed: {{ certificate: {{ host: 'localhost:{good.port}', name: third.example, ca: {authority.ca} }} }}",
                  f"gone: {{ certificate: 'localhost:{refused_port()}' }}",
                  "nowhere: { certificate: { host: no-such-host.invalid, name: localhost } }",
                  f"missing: {{ certificate: {{ host: 'localhost:{good.port}', ca: /nonexistent.pem }} }}"]
        with Daemon(once(*lines)) as daemon:
            for name in "good", "address", "six", "named":
                expect(daemon, name, "ok", "expires in ")
            expect(daemon, "expired", "critical", f"certificate expired {date(-3)} ")
            expect(daemon, "early", "critical", "certificate is not yet valid")
            expect(daemon, "wrong", "critical", "certificate is for other.example, not for localhost")
            expect(daemon, "unnamed", "critical", "certificate is for localhost and 2 more, not for third.example")
            expect(daemon, "self", "critical", "certificate is self-signed")
            expect(daemon, "strange", "critical", "certificate is not trusted")
            expect(daemon, "gone", "critical", "connection refused")
            expect(daemon, "nowhere", "critical", "no-such-host.invalid")
            contains(daemon.ctl("refresh", "missing").err, "cannot read certificates from /nonexistent.pem: no such file or directory")
        equal(good.requests, [], "requests")


@test("certificate: the certificate of an issuer that expires first is named; one that has no part in it does not count")
def issuers():
    with Certificates() as authority, contextlib.ExitStack() as stack:
        authority.make("R11", is_issuer=True, first_day=-40, last_day=9)
        short = authority.make("short", issuer="R11", first_day=-1, last_day=50)
        long = authority.make("long", first_day=-40, last_day=50)
        with open(long, "a", encoding="ascii") as file:
            file.write((authority.folder / "ca.crt").read_text())
        ports = [stack.enter_context(web(path)).port for path in (short, long)]
        lines = [f"{name}: {{ certificate: {{ host: 'localhost:{port}', ca: {authority.ca} }} }}" for name, port in zip(("short", "long"), ports)]
        lines.append(f"web: {{ http: {{ url: 'https://localhost:{ports[0]}/', ca: {authority.ca} }} }}")
        with Daemon(once(*lines)) as daemon:
            expect(daemon, "short", "warning")
            equal(daemon.text("short"), f"certificate of the issuer R11 expires in 8 days ({date(9)})")
            expect(daemon, "web", "warning", f"HTTP 200; certificate of the issuer R11 expires in 8 days ({date(9)})")
            # The authority's own certificate is valid for 30 days.
            expect(daemon, "long", "ok", "expires in 49 days")


def talking(kind, context, starts=True):
    """A mail server that offers STARTTLS, or refuses it."""
    greeting = {"smtp": b"220 mail ESMTP", "imap": b"* OK ready", "pop3": b"+OK ready"}[kind]

    def answers(line):
        tag, word = (line.split() + [b"", b""])[:2] if kind == "imap" else (b"", (line.split() or [b""])[0])
        offer = [b"STARTTLS"] if starts else []
        return {
            b"EHLO": [b"250-mail", *(b"250-" + word for word in offer), b"250 HELP"], b"CAPA": [b"+OK", *([b"STLS"] if starts else []), b"."],
            b"CAPABILITY": [b"* CAPABILITY IMAP4rev1 " + b" ".join(offer), tag + b" OK done"],
            b"STARTTLS": [b"220 go"] if kind == "smtp" else [tag + b" OK go"], b"STLS": [b"+OK go"],
        }.get(word.upper(), [b"500 no" if kind == "smtp" else tag + b" BAD no" if kind == "imap" else b"-ERR no"])

    def serve(connection):
        with contextlib.suppress(OSError):
            connection.sendall(greeting + b"\r\n")
            file = connection.makefile("rb")
            while line := file.readline():
                connection.sendall(b"".join(answer + b"\r\n" for answer in answers(line)))
                if starts and b"STARTTLS" in line.upper() or b"STLS" in line.upper():
                    connection = context.wrap_socket(connection, server_side=True)
                    file = connection.makefile("rb")
        connection.close()

    return listener(serve)


@test("certificate: after the STARTTLS of SMTP, IMAP and POP3, certificates are verified as usual; a server without it is critical")
def starttls():
    with Certificates() as authority, contextlib.ExitStack() as stack:
        good, old = tls(authority.make("good", first_day=-40, last_day=30)), tls(authority.make("old", first_day=-30, last_day=-3))
        lines = []

        def refuse(connection):
            with connection:
                connection.sendall(b"554 busy\r\n")

        def server(name, kind, port, name_in_it="localhost"):
            lines.append(f"{name}: {{ certificate: {{ host: '127.0.0.1:{port}', name: {name_in_it}, starttls: {kind}, ca: {authority.ca} }} }}")

        for kind in "smtp", "imap", "pop3":
            port = stack.enter_context(talking(kind, good))
            server(f"{kind}-good", kind, port)
            server(f"{kind}-wrong", kind, port, "other.example")
            server(f"{kind}-old", kind, stack.enter_context(talking(kind, old)))
            server(f"{kind}-none", kind, stack.enter_context(talking(kind, good, starts=False)))
            server(f"{kind}-other", kind, stack.enter_context(listener(refuse)))
            server(f"{kind}-gone", kind, refused_port())
        with Daemon(once(*lines)) as daemon:
            for kind in "smtp", "imap", "pop3":
                expect(daemon, f"{kind}-good", "ok", "expires in 29 days")
                expect(daemon, f"{kind}-wrong", "critical", "certificate is for localhost and 2 more, not for other.example")
                expect(daemon, f"{kind}-old", "critical", f"certificate expired {date(-3)} ")
                expect(daemon, f"{kind}-none", "critical")
                equal(daemon.text(f"{kind}-none"), "the server does not offer STARTTLS")
                expect(daemon, f"{kind}-other", "critical")
                # libcurl's words differ, and may have a number that does not matter.
                assert "errno" not in daemon.text(f"{kind}-other"), daemon.text(f"{kind}-other")
                expect(daemon, f"{kind}-gone", "critical", "connection refused")


@test("certificate: an endless greeting, a silent server and a large chain cost a bounded time, and little memory")
def hostile():
    def endless(line):
        def serve(connection):
            with connection, contextlib.suppress(OSError):
                while True:
                    connection.sendall(line)

        return listener(serve)

    with Certificates() as authority, contextlib.ExitStack() as stack:
        chain = authority.make("chain", first_day=-40, last_day=30)
        with open(chain, "a", encoding="ascii") as file:
            file.write((authority.folder / "ca.crt").read_text() * 200)
        ports = {"lines": ("smtp", stack.enter_context(endless(b"220-" + b"x" * 100 + b"\r\n"))), "line": ("smtp", stack.enter_context(endless(b"x" * 10_000))),
                 "imap": ("imap", stack.enter_context(endless(b"* OK " + b"x" * 100 + b"\r\n"))), "silent": ("pop3", stack.enter_context(listener())),
                 "chain": (None, stack.enter_context(web(chain)).port), "handshake": (None, stack.enter_context(listener())),
                 "records": (None, stack.enter_context(endless(b"\x16\x03\x03\x00\x04\x00\x00\x00\x00")))}
        lines = [f"{name}: {{ timeout: 2s, certificate: {{ host: 'localhost:{port}', {f'starttls: {kind}' if kind else f'ca: {authority.ca}' if name == 'chain' else 'expires: 1h'} }} }}"
                 for name, (kind, port) in ports.items()]
        peaks = {}

        def are_critical():
            for worker in daemon.children("statusd-http"):
                with contextlib.suppress(OSError), open(f"/proc/{worker}/status", encoding="ascii") as file:
                    peaks.update({worker: int(line.split()[1]) for line in file if line.startswith("VmHWM")})
            with daemon.connect() as connection:
                return all(server.get("status", {}).get("level") == "critical" for server in connection.call("List")["servers"])

        with Daemon(once(*lines)) as daemon:
            eventually(are_critical, "all critical")
            for name in "silent", "handshake", "records":
                equal(daemon.text(name), "no answer within 2s", name)
            contains(daemon.text("chain"), "TLS handshake failed: ")
        assert peaks and max(peaks.values()) < 100 * 1024, f"KiB of each process: {peaks}"
