# SPDX-License-Identifier: Apache-2.0
"""dns: against a name server that answers well, badly, falsely, or not at all."""

import os
import struct
import tempfile

from harness.daemon import Daemon
from harness.expect import Skip, contains, equal, eventually
from harness.echo import in_network
from harness.names import name, name_server, record
from harness.runner import test


def once(port, *servers, timeout="5s"):
    """Servers with `dns` settings, to which the name server is added; they are checked at the start, and then on request."""
    lines = [f"  {key}: {{ dns: {{ {settings}, server: '127.0.0.1:{port}' }} }}\n" for key, settings in servers]
    return f"defaults: {{ interval: 1h, timeout: {timeout} }}\nservers:\n" + "".join(lines)


def expect(daemon, server, level, text):
    """Waits for the level, then compares the text without the latency."""
    daemon.done("wait", server, "--level", level, "--timeout", "15s")
    equal(daemon.text(server).rpartition(" in ")[0] if level == "ok" else daemon.text(server), text, server)


def values(daemon, server):
    return {value["name"]: value["value"] for value in daemon.describe(server)["values"]}


RECORDS = {
    "A": ["192.0.2.7"], "AAAA": ["2001:db8::7"], "CNAME": ["web.example.net"], "MX": ["10 mx1.example.org", "20 mx2.example.org"],
    "NS": ["ns1.example.org", "ns2.example.org"], "PTR": ["host.example.org"], "SOA": ["ns1.example.org root.example.org 7 2 3 4 5"],
    "SRV": ["10 5 5060 sip.example.org"], "TXT": ["v=spf1 -all", "x" * 300],
}


@test("dns: records of each type are shown with the latency, and their lifetime is a value that does not change the status")
def types():
    lifetimes = [300]
    answers = {f"{kind.lower()}.test": lambda question, _, texts=texts: question.answer(*texts, lifetime=lifetimes[0])
               for kind, texts in RECORDS.items()}
    with name_server(answers) as server:
        with Daemon(once(server.port, *((kind, f"name: {kind.lower()}.test, type: {kind}") for kind in RECORDS))) as daemon:
            for kind, texts in RECORDS.items():
                expect(daemon, kind, "ok", ", ".join(sorted(texts)))
            equal(values(daemon, "A")["ttl"], 300)

            def stays():
                # The latency may also change the text, if this host is busy, but not each time.
                before, lifetimes[0] = daemon.describe("A")["status"]["changedAt"], 307 - lifetimes[0]
                daemon.done("refresh", "A")
                eventually(lambda: values(daemon, "A")["ttl"] == lifetimes[0], "the new lifetime")
                return daemon.describe("A")["status"]["changedAt"] == before

            eventually(stays, "a new lifetime without a change")


@test("dns: expected answers may have any order and spelling; missing and additional ones are critical, and named")
def expected():
    answers = {
        "two.test": lambda question, _: question.answer("192.0.2.8", "192.0.2.7"),
        "six.test": lambda question, _: question.answer("2001:db8::7"),
        "mail.test": lambda question, _: question.answer("10 Mail.Example.org"),
        "many.test": lambda question, _: question.answer(*(f"192.0.2.{number}" for number in range(10, 18))),
    }
    cases = {
        "same": ("name: two.test, expect: [192.0.2.7, 192.0.2.8]", "ok", "192.0.2.7, 192.0.2.8"),
        "other": ("name: two.test, expect: [192.0.2.7, 192.0.2.9]", "critical", "192.0.2.8, not 192.0.2.9"),
        "less": ("name: two.test, expect: [192.0.2.7, 192.0.2.8, 192.0.2.9]", "critical", "missing 192.0.2.9"),
        "more": ("name: two.test, expect: 192.0.2.7", "critical", "unexpected 192.0.2.8"),
        "spelling": ("name: SIX.test., type: AAAA, expect: '2001:DB8:0::7'", "ok", "2001:db8::7"),
        "case": ("name: mail.test, type: MX, expect: 10 mail.example.org.", "ok", "10 mail.example.org"),
        "many": ("name: many.test", "ok", "192.0.2.10, 192.0.2.11, 192.0.2.12, 192.0.2.13, 192.0.2.14 and 3 more"),
    }
    with name_server(answers) as server:
        with Daemon(once(server.port, *((key, case[0]) for key, case in cases.items()))) as daemon:
            for key, (_, level, text) in cases.items():
                expect(daemon, key, level, text)


@test("dns: another address is another status, although its digits are numbers")
def digits():
    addresses = ["192.0.2.7"]
    with name_server({"a.test": lambda question, _: question.answer(*addresses)}) as server:
        with Daemon(once(server.port, ("a", "name: a.test"))) as daemon:
            expect(daemon, "a", "ok", "192.0.2.7")
            addresses[0] = "192.0.2.8"
            daemon.done("refresh", "a")
            expect(daemon, "a", "ok", "192.0.2.8")


@test("dns: aliases are followed to the answers of the type; a reply without them is critical, with the reason of the server")
def negative():
    alias = record("www.test", "CNAME", "web.test", 60), record("web.test", "CNAME", "host.test", 50)
    answers = {
        "www.test": lambda question, _: question.reply(*alias, record("host.test", "A", "192.0.2.7", 70), record("x.test", "A", "192.0.2.9", 1)),
        "loop.test": lambda question, _: question.reply(record("loop.test", "CNAME", "pool.test"), record("pool.test", "CNAME", "loop.test")),
        "dangling.test": lambda question, _: question.reply(record("dangling.test", "CNAME", "web.test")),
        "empty.test": lambda question, _: question.reply(),
        "far.test": lambda question, _: question.reply(flags=0x8100),
        **{f"code{code}.test": lambda question, _, code=code: question.reply(code=code) for code in (1, 2, 4, 5, 9)},
    }
    cases = {
        "www.test": "192.0.2.7", "none.test": "none.test does not exist (NXDOMAIN)",
        "dangling.test": "dangling.test is an alias of web.test, for which the answer does not have an A record",
        "empty.test": "empty.test does not have an A record (NODATA)",
        "far.test": "the server does not know far.test, and refers to other servers",
        "code1.test": "the server cannot read the question (FORMERR)", "code2.test": "the server failed (SERVFAIL)",
        "code4.test": "the server does not support the question (NOTIMP)", "code5.test": "the server refuses to answer (REFUSED)",
        "code9.test": "the server reports the error 9",
    }
    with name_server(answers) as server:
        with Daemon(once(server.port, *((key, f"name: {key}") for key in [*cases, "loop.test"]))) as daemon:
            for key, text in cases.items():
                expect(daemon, key, "ok" if key == "www.test" else "critical", text)
            equal(values(daemon, "www.test")["ttl"], 50, "the shortest lifetime, also of an alias")
            daemon.done("wait", "loop.test", "--level", "critical", "--timeout", "15s")
            contains(daemon.text("loop.test"), "loop.test is an alias of ")


def loops(question, _):
    """Names that are compressed to themselves, to each other, and to what follows."""
    pointers = [b"\xc0" + bytes([12 + len(question.section)]), b"\xc0\xff", b"\xff\xff"]
    return [question.reply(pointer + struct.pack("!HHIH", 1, 1, 300, 4) + b"\xc0\0\2\7") for pointer in pointers]


LIES = {
    "wrong-id.test": lambda question, _: question.reply(record(question.name, "A", "192.0.2.7"), identity=bytes(byte ^ 255 for byte in question.id)),
    "wrong-name.test": lambda question, _: question.reply(record("other.test", "A", "192.0.2.7"), section=name("other.test") + b"\0\1\0\1"),
    "wrong-type.test": lambda question, _: question.reply(section=name(question.name) + b"\0\x1c\0\1"),
    "no-question.test": lambda question, _: question.id + struct.pack("!5H", 0x8180, 0, 1, 0, 0) + record(question.name, "A", "192.0.2.7"),
    "no-reply.test": lambda question, _: question.message,
    "loops.test": loops,
    "short.test": lambda question, _: [question.reply(record(question.name, "A", "192.0.2.7"))[:end] for end in (1, 11, 12, 20, -1)],
    "length.test": lambda question, _: question.reply(record(question.name, "A", b"\xc0\0\2")),
    "long.test": lambda question, _: question.reply(record(question.name, "A", b"\xc0\0\2\7\7")),
    "counts.test": lambda question, _: question.id + struct.pack("!5H", 0x8180, 1, 65535, 65535, 65535) + question.section,
    "noise.test": lambda question, _: [os.urandom(size) for size in (0, 1, 12, 100, 512)] + [question.id + b"\x80" + os.urandom(100)],
}


@test("dns: false, broken and foreign messages are no answers; a true answer that follows them is")
def lies():
    with name_server(LIES) as server:
        with Daemon(once(server.port, *((key, f"name: {key}") for key in LIES), timeout="500ms")) as daemon:
            for key in LIES:
                expect(daemon, key, "critical", "no valid answer within 500ms")
    honest = {key: lambda question, protocol, lie=lie: [*as_list(lie(question, protocol)), question.answer("192.0.2.7")]
              for key, lie in LIES.items()}
    with name_server(honest) as server:
        with Daemon(once(server.port, *((key, f"name: {key}") for key in LIES))) as daemon:
            for key in LIES:
                expect(daemon, key, "ok", "192.0.2.7")


def as_list(found):
    return found if isinstance(found, list) else [found]


@test("dns: an answer that is too long for a datagram is taken over TCP, which may be slow or broken, but not for longer than the timeout")
def truncated():
    many = [f"192.0.{number // 250}.{number % 250}" for number in range(4000)]

    def over_tcp(answer):
        def both(question, protocol):
            return question.reply(flags=0x8380) if protocol == "udp" else answer(question)
        return both

    def slowly(question):
        message = question.answer("192.0.2.7")
        message = struct.pack("!H", len(message)) + message
        return [part for byte in message for part in (bytes([byte]), 0.005)]

    answers = {
        "well.test": over_tcp(lambda question: question.reply(*(record("well.test", "A", text)[len(name("well.test")):].join([b"\xc0\x0c", b""]) for text in many))),
        "slow.test": over_tcp(slowly), "silent.test": over_tcp(lambda question: None),
        "endless.test": over_tcp(lambda question: [b"\xff\xff"] + [b"x", 0.02] * 100),
        "closed.test": over_tcp(lambda question: [b"\0\7x"]), "false.test": over_tcp(lambda question: b"\0" * 20),
        "many.test": lambda question, protocol: [question.reply(flags=0x8380)] * 20 if protocol == "udp" else b"\0" * 20,
    }
    with name_server(answers) as server:
        with Daemon(once(server.port, *((key, f"name: {key}") for key in ("well.test", "slow.test", "closed.test")))) as daemon:
            expect(daemon, "well.test", "ok", "192.0.0.0, 192.0.0.1, 192.0.0.10, 192.0.0.100, 192.0.0.101 and 3995 more")
            expect(daemon, "slow.test", "ok", "192.0.2.7")
            expect(daemon, "closed.test", "critical", "the answer is too long for UDP, and asking over TCP failed: the server closed the connection early")
        names = ("silent.test", "endless.test", "false.test", "many.test")
        with Daemon(once(server.port, *((key, f"name: {key}") for key in names), timeout="500ms")) as daemon:
            for key in names[:2]:
                expect(daemon, key, "critical", "the answer is too long for UDP, and asking over TCP failed: no answer within 500ms")
            for key in names[2:]:
                expect(daemon, key, "critical", "no valid answer within 500ms")
            equal(server.tcp.count("many.test"), 1, "questions over TCP, which would use up the ports of this host")


@test("dns: a question that is lost is asked again; a server that is silent or missing is critical")
def lost():
    asked = []

    def second(question, _):
        asked.append(question.id)
        return question.answer("192.0.2.7") if len(asked) > 1 else None

    with name_server({"again.test": second}) as server:
        with Daemon(once(server.port, ("again", "name: again.test"), timeout="1s")) as daemon:
            expect(daemon, "again", "ok", "192.0.2.7")
    with name_server({"silent.test": lambda *_: None}) as server:
        with Daemon(once(server.port, ("silent", "name: silent.test"), timeout="300ms")) as daemon:
            expect(daemon, "silent", "critical", "no answer within 300ms")
    with Daemon(once(server.port, ("gone", "name: a.test"))) as daemon:
        expect(daemon, "gone", "critical", "connection refused")


@test("dns: without “server”, the servers of resolv.conf are asked, the next one if one fails; without any, the server is failed")
def resolver():
    if os.getuid() != 0:
        raise Skip("needs root, for a resolv.conf and a port 53 of its own")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "resolv.conf")
        with open(file, "w", encoding="utf-8") as text:
            text.write("# none\n")
        prefix = in_network("mount", "--bind", file, "/etc/resolv.conf")
        entry = "defaults: { interval: 1h, timeout: 3s }\nservers: { a: { dns: a.test } }\n"
        with Daemon(entry, prefix=prefix) as daemon:
            eventually(lambda: daemon.describe("a")["phase"] == "failed", "a failed server")
            equal(daemon.describe("a")["message"], "no name server in /etc/resolv.conf; add one, or set “server”")
            with open(file, "w", encoding="utf-8") as text:
                text.write("search test\nnameserver 192.0.2.1\nnameserver 127.0.0.9\noptions edns0\n")
            daemon.ctl("refresh", "a")
            expect(daemon, "a", "critical", "127.0.0.9: connection refused")


@test("dns: a process of its own reads the answers; if it is killed, the question is asked again")
def own_process():
    with name_server({"a.test": lambda question, _: question.answer("192.0.2.7")}) as server:
        with Daemon(once(server.port, ("a", "name: a.test"))) as daemon:
            expect(daemon, "a", "ok", "192.0.2.7")
            worker, = daemon.children("statusd-dns")
            os.kill(worker, 9)
            daemon.done("refresh", "a")
            expect(daemon, "a", "ok", "192.0.2.7")
            equal(len(daemon.children("statusd-dns")), 1)
