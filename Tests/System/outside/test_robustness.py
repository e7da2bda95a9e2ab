# SPDX-License-Identifier: Apache-2.0
"""Invariant 15: no client can end the daemon, and no client leaves anything behind."""

import json
import os
import signal
import socket

from harness.attacker import Attacker, as_user
from harness.daemon import NOBODY, Daemon, readable_binaries, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test
from harness.varlink import Connection, VarlinkError

from .test_notify_clients import CONFIGURATION, send

JUNK = (
    b"\0", b"\0" * 1000, b"not json\0", b"[]\0", b"null\0", b'"text"\0', b"{}\0", b'{"method":5}\0', b'{"method":""}\0',
    b'{"method":"nodots"}\0', b'{"method":"org.statusd.monitor.List","parameters":[]}\0', b'{"method":"a.b.C",}\0',
    b'{"method":"\xff\xfe"}\0', b'{"method":"\\ud800.x"}\0', b"[" * 60000 + b"\0", b'{"a":' * 10000 + b"\0",
    b'{"method":"org.statusd.monitor.List","unknown":1}\0', b'{"method":"org.statusd.monitor.List","oneway":"yes"}\0',
    b'{"method":"org.statusd.monitor.List","more":true,"oneway":true}\0', b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00", bytes(range(1, 256)) * 10 + b"\0",
)


def until_closed(connection):
    """The daemon's output until it closes the connection; the connection may be reset, too."""
    answers = []
    try:
        while (reply := connection.receive()) is not None:
            answers.append(reply)
    except (ConnectionResetError, BrokenPipeError):
        pass
    return answers


@test("junk gets an error reply or a closed connection, and only that connection")
def junk():
    with Daemon() as daemon, daemon.connect() as other:
        other.call("List")
        before = daemon.descriptors()
        for message in JUNK:
            with Connection(daemon.socket) as connection:
                connection.socket.sendall(message)
                connection.socket.shutdown(socket.SHUT_WR)
                for answer in until_closed(connection):
                    assert "error" in answer or message.startswith(b'{"method":"org.statusd'), (message[:40], answer)
            equal(other.call("List"), {"servers": []}, f"another connection after {message[:40]}")
        daemon.assert_alive()
        daemon.assert_no_leak(before)


@test("waits that never end leave nothing behind when their clients disconnect")
def long_waits():
    def wait():
        with Connection(daemon.socket) as connection:
            connection.send("Wait", {"server": "never", "level": "ok", "timeoutMilliseconds": 10**12})
            # Two turns of the loop later the wait has begun.
            for _ in range(2):
                other.call("List")

    with Daemon() as daemon, daemon.connect() as other:
        for _ in range(500):
            wait()
        before = daemon.resident()
        for _ in range(3000):
            wait()
        grown = daemon.resident() - before
        assert grown < 300, f"{grown} KB more after 3000 waits"


@test("a oneway Wait ends at once and leaves nothing behind")
def oneway_waits():
    with Daemon() as daemon, daemon.connect() as other:
        other.call("List")
        before = daemon.descriptors()
        for _ in range(20):
            with Connection(daemon.socket) as connection:
                connection.send("Wait", {"server": "never", "level": "ok"}, oneway=True)
        daemon.assert_no_leak(before)


@test("half a message delays nobody, whether its sender stays or disconnects")
def half_messages():
    with Daemon() as daemon, daemon.connect() as staying:
        staying.call("List")
        before = daemon.descriptors()
        message = b'{"method":"org.statusd.monitor.List","parameters":{}}\0'
        staying.socket.sendall(message[:20])
        for length in range(1, len(message)):
            with Connection(daemon.socket) as connection:
                connection.socket.sendall(message[:length])
        daemon.assert_alive()
        staying.socket.sendall(message[20:])
        equal(staying.receive(), {"parameters": {"servers": []}}, "the message whose second half came late")
        for byte in message:
            staying.socket.sendall(bytes([byte]))
        equal(staying.receive(), {"parameters": {"servers": []}}, "the message that came byte by byte")
        daemon.assert_no_leak(before)


@test("a message of a megabyte closes its connection and costs nothing")
def megabyte():
    with Daemon() as daemon:
        before = daemon.resident()
        for filler in (b"x", b"[", b" "):
            with Connection(daemon.socket) as connection:
                try:
                    connection.socket.sendall(b'{"method":"org.statusd.monitor.List","x":"' + filler * (1 << 20))
                    until_closed(connection)
                except (BrokenPipeError, ConnectionResetError):
                    pass
        daemon.assert_alive()
        assert daemon.resident() - before < 8 * 1024, f"grew by {daemon.resident() - before} KiB"


@test("a client that never reads costs bounded memory and delays nobody")
def never_reads():
    with Daemon() as daemon, daemon.connect() as poster:
        for number in range(100):
            poster.call("Post", {"server": f"server{number}", "text": "x" * 1000})
        before = daemon.resident()
        with Connection(daemon.socket) as greedy:
            greedy.socket.settimeout(0.5)
            call = json.dumps({"method": "org.statusd.monitor.List"}).encode() + b"\0"
            try:
                for _ in range(2000):
                    greedy.socket.sendall(call * 10)
            except (TimeoutError, BrokenPipeError, ConnectionResetError):
                pass
            daemon.assert_alive()
            assert daemon.resident() - before < 24 * 1024, f"grew by {daemon.resident() - before} KiB"
        daemon.assert_alive()


@test("ten thousand connections, a hundred at a time, leave nothing behind", 120)
def ten_thousand_connections():
    with Daemon() as daemon:
        daemon.assert_alive()
        before, memory = daemon.descriptors(), 0
        for batch in range(100):
            connections = [Connection(daemon.socket) for _ in range(100)]
            for connection in connections[::2]:
                connection.send("Watch", {}, more=True)
            for connection in connections[::2]:
                equal(connection.receive()["parameters"]["event"]["kind"], "snapshot")
            for connection in connections:
                connection.socket.close()
            daemon.assert_no_leak(before)
            if batch == 9:
                memory = daemon.resident()
        assert daemon.resident() - memory < 8 * 1024, f"grew by {daemon.resident() - memory} KiB in 9000 connections"
        daemon.assert_alive()


@test("connections above a user's limit are refused until others are closed")
def too_many_connections():
    def answers():
        try:
            with daemon.connect() as connection:
                return connection.call("List") == {"servers": []}
        except (OSError, VarlinkError):
            return False

    with Daemon() as daemon:
        before = daemon.descriptors()
        with Attacker(lambda: [Connection(daemon.socket) for _ in range(400)]) as attacker:
            attacker.wait()
            eventually(lambda: daemon.descriptors() <= before + 128 + 3, "as many connections as a user may have")
            if os.getuid() == 0:  # to whom the limit of a user does not apply
                assert answers()
                equal(as_user(NOBODY, answers), False)
                statusctl = os.path.join(readable_binaries(daemon.folder), "statusctl")
                for _ in range(10):
                    told = run(statusctl, "--address", f"unix:{daemon.socket}", "list", user=NOBODY, group=NOBODY, extra_groups=[])
                    contains(one_sentence(told, 1), "limit reached: 128 connections; close some connections, or raise “limits: { connections:")
        eventually(lambda: as_user(NOBODY, answers), "an answer once the others have gone")


@test("a call that is too long is refused with the name of the limit, and its connection is closed")
def too_long():
    with Daemon("accept: any\nlimits: { message: 1K }\n") as daemon:
        told = daemon.ctl("post", "db", "x" * 1000)
        contains(one_sentence(told, 1), "limit reached: messages of 1024 bytes; raise “limits: { message:")
        contains(one_sentence(daemon.ctl("post", "db", "x" * 2000), 1), "the text has 2000 bytes, more than 1024")
        daemon.done("post", "db", "well")


@test("junk on a notify socket does no harm")
def notify_junk():
    with Daemon(CONFIGURATION) as daemon:
        path = daemon.notify_path("web")
        for data in (b"", b"\0", b"\xff" * 4000, b"=" * 4000, b"\n" * 4000, b"STATUS=", b"STATUS=\xff\xfe", b"STATUS=a\nSTATUS=b",
                     b"STATUS=" + b"x" * 60000, b"ERRNO=x", b"WATCHDOG_USEC=99999999999999999999", b"BARRIER=1", os.urandom(1000)):
            send(path, data)
        send(path, "STATUS=well")
        eventually(lambda: daemon.text("web") == "well")
        daemon.assert_alive()


@test("a notification that is too long is ignored, and logged once")
def notify_too_long():
    with Daemon(CONFIGURATION) as daemon:
        path = daemon.notify_path("web")
        send(path, "READY=1\nSTATUS=well")
        for _ in range(3):
            send(path, "STATUS=cut\nX=" + "x" * 70000 + "\nERRNO=5")
            send(path, "STATUS=many\n" + 128 * "A=1\n" + "ERRNO=5")
        send(path, "STATUS=still well\n" + 127 * "A=1\n")
        eventually(lambda: daemon.text("web") == "still well")
        ignored = "ignored a notification for web of more than 64 KiB or 128 lines"
        eventually(lambda: ignored in daemon.log(), "the message")
        equal(daemon.log().count(ignored), 1)


@test("a long text from a notify socket is cut after a character and ends in an ellipsis")
def notify_long_text():
    with Daemon(CONFIGURATION) as daemon:
        send(daemon.notify_path("web"), "STATUS=" + "é" * 2000)
        eventually(lambda: daemon.text("web"))
        text = daemon.text("web")
        assert len(text.encode()) <= 1024 and text.endswith("é…"), text[-10:]


@test("after kill -9 the next start removes the daemon's leftovers, including notify sockets of servers that only posted")
def killed():
    with Daemon() as daemon:
        daemon.done("post", "visitor", "here")
        assert os.path.exists(daemon.notify_path("visitor"))
        daemon.stop(signal.SIGKILL)
        daemon.start()
        equal(os.listdir(daemon.runtime / "notify"), [])
        daemon.done("post", "visitor", "here again")
