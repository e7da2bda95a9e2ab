# SPDX-License-Identifier: Apache-2.0
"""Invariant 16: nothing that another process can slow down holds up the loop."""

import fcntl
import os
import socket
import struct
import time

from harness.attacker import Attacker
from harness.bystander import Bystander
from harness.daemon import Daemon
from harness.expect import equal
from harness.runner import test

CONFIGURATION = """
accept: any
servers:
  backup: { notify: true }
"""
LINGER = 20
"""Seconds for which the attacker's socket holds up whoever closes it last."""


def lingering_socket():
    """A TCP socket that has something to send to a peer that does not read, and blocks whoever closes it last."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    lingering = socket.socket()
    lingering.connect(listener.getsockname())
    lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER))
    lingering.setblocking(False)
    try:
        while True:
            lingering.send(b"x" * 65536)
    except BlockingIOError:
        pass
    return lingering, listener.accept()[0]


def hand_over(connect, message, count):
    """Sends `count` lingering sockets in one message each, and closes its own references."""
    peers, ours = [], []
    for _ in range(count):
        lingering, peer = lingering_socket()
        peers.append(peer)
        try:
            other = connect()
            socket.send_fds(other, [message], [lingering.fileno()])
            ours.append(other)
        except OSError:
            pass  # refused, which is an answer
        lingering.close()
    return peers, ours


def notify_socket(path):
    """Connects to a notify socket."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    connection.connect(path)
    return connection


def control_socket(path):
    """Connects to the control socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


CALL = b'{"method":"org.statusd.monitor.List"}\0'


def stop_and_time(daemon):
    """Has the daemon end by SIGTERM; fails if it does not."""
    began = time.monotonic()
    equal(daemon.stop(), 0, "exit status")
    print(f"     SIGTERM to the end: {1000 * (time.monotonic() - began):.0f} ms", flush=True)


def measure(attack, act, configuration=CONFIGURATION, **options):
    """Runs `act(daemon)` as an attacker beside a well-behaved client; prints what that one noticed."""
    with Daemon(configuration, **options) as daemon:
        with Bystander(daemon) as bystander, Attacker(act, daemon) as attacker:
            attacker.wait()
            bystander.finish(attack)
            stop_and_time(daemon)


@test("sockets that block whoever closes them, sent to a notify socket, hold up nobody")
def lingering_notify():
    measure("lingering sockets to a notify socket",
            lambda daemon: hand_over(lambda: notify_socket(daemon.notify_path("backup")), b"STATUS=x", 5))


@test("sockets that block whoever closes them, sent to the control socket, hold up nobody")
def lingering_control():
    measure("lingering sockets to the control socket",
            lambda daemon: hand_over(lambda: control_socket(daemon.socket), CALL, 5))


@test("locks on the daemon's directories hold up neither a reload, nor a new server, nor a start")
def locked_directories():
    def lock(daemon):
        kept = []
        for folder in (daemon.runtime, daemon.runtime / "notify"):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            kept.append(descriptor)
        return kept

    with Daemon(CONFIGURATION) as daemon:
        with Bystander(daemon) as bystander, Attacker(lock, daemon) as attacker:
            attacker.wait()
            daemon.file.write_text(CONFIGURATION + "  other: { notify: true }\n")
            daemon.done("reload")
            daemon.done("post", "new", "here")
            bystander.finish("locked directories")
            stop_and_time(daemon)
            daemon.start()
            daemon.assert_alive()
