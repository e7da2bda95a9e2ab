# SPDX-License-Identifier: Apache-2.0
"""A network of its own for a program, with hosts that answer echo requests in their own ways; also the program in it.

The last part of an address, of 127.0.0.0/8 or fd00::/64, is the way: see WAYS. The kernel answers none of them."""

import ctypes
import fcntl
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

WAYS = {"well": 1, "silent": 2, "lossy": 3, "slow": 4, "twice": 5, "forged": 6, "elsewhere": 7, "unreachable": 8, "foreign": 9, "one": 10, "slandered": 11}


def in_network(*command, group_range="0 2147483647"):
    """The prefix of a command that runs it in this network, after another command. Needs root."""
    return ("unshare", "-nm", "--", sys.executable, __file__, group_range, str(len(command)), *command)


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Peer:
    """The hosts of one address family."""

    def __init__(self, family):
        self.is6 = family == socket.AF_INET6
        self.socket = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMPV6 if self.is6 else socket.IPPROTO_ICMP)
        if self.is6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        else:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)

    def send(self, source, target, message):
        """Sends an ICMP message from one of the addresses."""
        if self.is6:
            info = [(socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, source + struct.pack("i", 0))]
            self.socket.sendmsg([message], info, 0, (socket.inet_ntop(socket.AF_INET6, target), 0))
            return
        message = message[:2] + struct.pack("!H", checksum(message)) + message[4:]
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(message), 0, 0, 64, 1, 0, source, target)
        self.socket.sendto(header + message, (socket.inet_ntoa(target), 0))

    def serve(self):
        while True:
            packet, info, _, sender = self.socket.recvmsg(65536, 1024)
            if self.is6:
                target, source, message, original = info[0][2][:16], socket.inet_pton(socket.AF_INET6, sender[0]), packet, None
            else:
                target, source, message, original = packet[16:20], packet[12:16], packet[20:], packet
            if message[0] != (128 if self.is6 else 8):
                continue
            if self.is6:
                original = struct.pack("!IHBB16s16s", 0x60000000, len(message), 58, 64, source, target) + message
            self.answer(target, source, message, original)

    def answer(self, host, client, request, packet):
        way, sequence = host[-1], struct.unpack("!H", request[6:8])[0]
        reply = bytes([129 if self.is6 else 0, 0, 0, 0]) + request[4:]
        other = host[:-1] + bytes([WAYS["well"]])
        if way == WAYS["well"] or way == WAYS["lossy"] and sequence != 1 or way == WAYS["one"] and sequence == 0:
            self.send(host, client, reply)
        elif way == WAYS["slow"]:
            threading.Timer(0.15, self.send, (host, client, reply)).start()
        elif way == WAYS["twice"] and sequence == 0:
            for _ in range(5):
                self.send(host, client, reply)
        elif way == WAYS["forged"]:
            for forged in (reply[:8] + bytes(len(reply) - 8), reply[:-1], reply + b"\0", reply[:8], reply[:6] + b"\x12\x34" + reply[8:]):
                self.send(host, client, forged)
        elif way == WAYS["elsewhere"]:
            self.send(other, client, reply)
        elif way == WAYS["foreign"]:
            self.send(host, client, reply[:4] + bytes([reply[4] ^ 1]) + reply[5:])
        elif way == WAYS["unreachable"]:
            self.send(other, client, bytes([1, 3] if self.is6 else [3, 1]) + bytes(6) + packet)
        elif way == WAYS["slandered"]:
            # Before the answer, another host says that this one cannot be reached, and a router that there is a better way.
            self.send(other, client, bytes([1, 3] if self.is6 else [3, 1]) + bytes(6) + packet)
            if not self.is6:
                self.send(other, client, bytes([5, 1, 0, 0]) + other + packet)
            threading.Timer(0.03, self.send, (host, client, reply)).start()


def set_up(group_range):
    """Makes the network."""
    with socket.socket() as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14s", b"lo", 0x41, b""))  # SIOCSIFFLAGS: up and running
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        for way in WAYS.values():
            address = socket.inet_pton(socket.AF_INET6, f"fd00::{way:x}")
            fcntl.ioctl(control, 0x8916, address + struct.pack("Ii", 128, socket.if_nametoindex("lo")))  # SIOCSIFADDR
    for file, text in (("ipv4/ping_group_range", group_range), ("ipv4/icmp_echo_ignore_all", "1"), ("ipv6/icmp/echo_ignore_all", "1"),
                       ("ipv4/conf/all/accept_local", "1")):
        pathlib.Path("/proc/sys/net", file).write_text(text, encoding="ascii")


def main():
    group_range, count, *words = sys.argv[1:]
    set_up(group_range)
    if words[:int(count)]:
        subprocess.run(words[:int(count)], check=True)
    peers = [Peer(family) for family in (socket.AF_INET, socket.AF_INET6)]
    parent = os.getpid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        os.closerange(0, 3)
        for peer in peers:
            threading.Thread(target=peer.serve, daemon=True).start()
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(0)
    os.execv(words[int(count)], words[int(count):])


if __name__ == "__main__":
    main()
