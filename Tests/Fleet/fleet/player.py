# SPDX-License-Identifier: Apache-2.0
"""The process that plays hosts: one connection each, and a model of what was said last.

It reads orders from its standard input, one JSON object a line, and answers each with a line (fleet/played.py). Its end
is the end of its hosts, as if they lost their power.
"""

import collections
import errno
import json
import os
import random
import select
import socket
import struct
import sys
import time

from . import mqtt, servers
from .actions import Actions
from .host import Host

AT_ONCE = 400
"""How many hosts connect at the same time."""


class Player(Actions):
    """The loop: connections, orders, and random actions."""

    def __init__(self, brokers, prefix, first, count, size, seed, wrong):
        self.brokers, self.chance = brokers, random.Random(seed)
        self.poll = select.epoll()
        self.hosts, self.by_descriptor, self.connecting = [], {}, 0
        self.waiting, self.greeted = collections.deque(), collections.defaultdict(collections.deque)
        self.rate, self.owed, self.beat = 0.0, 0.0, time.monotonic() + 60
        self.done, self.orders, self.settling = collections.Counter(), bytearray(), None
        for number in range(first, first + count):
            clock = self.chance.choice((-7, 5, 30)) * 3_600_000 if self.chance.random() < wrong else 0
            host = Host(f"{prefix}{number:05d}" + (".example.org" if number % 7 == 0 else ""), number, clock)
            for index in range(size):
                host.change(servers.name(index), self.chance)
            self.hosts.append(host)
        os.set_blocking(0, False)
        self.poll.register(0, select.EPOLLIN)

    # Connections

    def open(self, host):
        """Begins a connection."""
        address = self.brokers[host.broker % len(self.brokers)]
        host.broker += 1
        host.socket, host.up = socket.socket(), False
        host.socket.setblocking(False)
        host.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host.begin()
        host.buffer.clear()
        host.out[:] = mqtt.connect(f"statusd-{host.name}", will=host.will())
        host.unread = 0
        self.connecting += 1
        self.by_descriptor[host.socket.fileno()] = host
        if host.socket.connect_ex(tuple(address)) not in (0, errno.EINPROGRESS):
            self.lose(host)
            return
        self.poll.register(host.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)

    def close(self, host, reset=False):
        if reset:
            host.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.by_descriptor.pop(host.socket.fileno(), None)
        host.socket.close()
        self.connecting -= 0 if host.up else 1
        host.socket, host.up, host.stopping, host.unread = None, False, False, 0
        host.out.clear()

    def lose(self, host):
        """A connection that has ended; a host that is wanted tries again a little later."""
        if host.stopping == "bye":
            host.state = "stopped"
            self.close(host)
            if host.wanted:
                self.later(host, 2)
            return
        if host.up:
            host.state = "lost"
        self.close(host)
        if not host.wanted:
            return
        host.failures += 1
        self.later(host, min(2, 0.05 * 2 ** host.failures))

    def later(self, host, seconds):
        host.wanted, host.again = True, time.monotonic() + seconds * (0.5 + self.chance.random())
        self.waiting.append(host)

    def flush(self, host):
        try:
            while host.out:
                del host.out[:host.socket.send(host.out)]
        except BlockingIOError:
            pass
        except OSError:
            self.lose(host)
            return
        self.poll.modify(host.socket.fileno(), select.EPOLLIN | (select.EPOLLOUT if host.out else 0))

    def greet(self, host):
        """After CONNACK: ready, all servers, and what is gone."""
        host.up, host.state, host.failures = True, "ready", 0
        self.connecting -= 1
        host.send("$state", host.said("ready"))
        for name in (*host.servers, *host.gone):
            host.tell(name)
        now = time.monotonic()
        for seconds in (5, 15, 30) if len(self.brokers) > 1 else (5,):
            self.greeted[seconds].append((now + seconds, host))

    def read(self, host):
        try:
            data = host.socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.lose(host)
            return
        host.buffer += data
        for first, body in mqtt.packets(host.buffer):
            if first >> 4 == mqtt.PUBACK:
                host.unread -= 1
            elif first >> 4 == mqtt.CONNACK:
                if body[1]:
                    self.lose(host)
                    return
                self.greet(host)
        if host.stopping is True and host.unread == 0:
            # Only now, because data that was not read at the end would reset the connection, and so send the will.
            host.stopping = "bye"
            host.out += mqtt.DISCONNECT
        if host.out:
            self.flush(host)

    # Orders

    def order_start(self, hosts=None, share=1.0):
        """These hosts connect; without any, this share of all that do not."""
        chosen = [host for host in self.hosts if not host.wanted and (hosts is None or host.name in hosts)]
        chosen = chosen[:round(len(chosen) * share)] if hosts is None else chosen
        for host in chosen:
            host.wanted, host.again = True, 0.0
            self.waiting.append(host)
        return len(chosen)

    def order_play(self, rate=0):
        self.rate = rate
        return dict(self.done)

    def order_end(self, how="reset", share=0.1):
        """A random share goes away and stays away: reset, or stopped."""
        here = [host for host in self.hosts if host.up and not host.stopping]
        chosen = self.chance.sample(here, min(len(here), round(len(self.hosts) * share)))
        for host in chosen:
            getattr(self, "do_reconnect" if how == "reset" else "do_stop")(host)
            host.wanted = False
        return [host.name for host in chosen]

    def order_forgotten(self):
        """The broker has forgotten what hosts that are away had said."""
        for host in self.hosts:
            if not host.wanted and host.state in ("lost", "stopped"):
                host.state = "forgotten"
        return None

    def order_late(self):
        """Of each host, the late will of an earlier connection comes, and an older state of a server; neither counts."""
        for host in self.hosts:
            if host.up and not host.stopping:
                self.do_late(host)
                if host.servers:
                    server = host.servers[self.some(host)]
                    host.send(server["name"], servers.payload({**server, "description": "old", "revision": server["revision"] - 1}, host.epoch),
                              retain=False)
                self.flush(host)

    def order_change(self, host=None):
        """A change, for a measurement: the name of the host and of the server, and its text."""
        host = self.chance.choice([host for host in self.hosts if host.up]) if host is None else self.hosts[host]
        name = self.some(host)
        host.change(name, self.chance)
        text = f"t{time.monotonic_ns()}"
        server = host.servers[name]
        server["phase"], server["status"] = "loaded", {
            **{key: servers.stamp(host.now()) for key in ("changedAt", "levelChangedAt", "updatedAt")}, "text": text, "level": "ok"}
        host.tell(name)
        self.flush(host)
        return {"host": host.name, "server": name, "text": text}

    def order_settle(self, beat=True):
        """Ends the actions; the answer comes when all hosts that are wanted are there and all is acknowledged."""
        self.rate, self.settling = 0, {"beat": beat}

    def settled(self):
        """The model, once nothing is under way."""
        if self.waiting or self.connecting or any(host.stopping or host.wanted and not host.up for host in self.hosts):
            return None
        if self.settling["beat"]:
            self.settling["beat"] = False
            self.beat_all()
        if any(host.up and (host.out or host.unread) for host in self.hosts):
            return None
        return {host.name: {"state": host.state, "clock": host.clock, "version": "0.1.0", "servers": list(host.servers.values())}
                for host in self.hosts if host.state != "never"}

    def beat_all(self):
        self.beat = time.monotonic() + 60
        for host in self.hosts:
            self.say_ready(host)

    def say_ready(self, host):
        if host.up and not host.stopping:
            host.send("$state", host.said("ready"))
            self.flush(host)

    def repeat(self, host):
        """Soon after CONNACK. With a cluster, as statusd-mqtt with MQTT 3.1.1, all servers, too."""
        self.say_ready(host)
        if len(self.brokers) > 1 and host.up and not host.stopping:
            for name in (*host.servers, *host.gone):
                host.tell(name)
            self.flush(host)

    # The loop

    def obey(self):
        data = os.read(0, 65536)
        if not data:
            sys.exit(0)
        self.orders += data
        while b"\n" in self.orders:
            line, _, self.orders = self.orders.partition(b"\n")
            order = json.loads(line)
            answer = getattr(self, f"order_{order.pop('do')}")(**order)
            if self.settling is None:
                self.answer(answer)

    @staticmethod
    def answer(value):
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()

    def connect_some(self, now):
        for _ in range(len(self.waiting)):
            if self.connecting >= AT_ONCE:
                return
            host = self.waiting.popleft()
            if not host.wanted or host.socket:
                continue
            if host.again > now:
                self.waiting.append(host)
                continue
            self.open(host)

    def run(self):
        last = time.monotonic()
        while True:
            busy = self.rate or self.waiting or self.settling
            for descriptor, events in self.poll.poll(0.01 if busy else 0.5, 512):
                if descriptor == 0:
                    self.obey()
                    continue
                host = self.by_descriptor.get(descriptor)
                if not host:
                    continue
                if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    self.read(host)
                if host.socket and events & select.EPOLLOUT:
                    self.flush(host)
            now = time.monotonic()
            self.owed = min(self.owed + (now - last) * self.rate, 2 * self.rate) if self.rate else 0
            last = now
            while self.owed >= 1:
                self.owed -= 1
                self.act()
            self.connect_some(now)
            if now > self.beat:
                self.beat_all()
            for greeted in self.greeted.values():
                while greeted and greeted[0][0] < now:
                    self.repeat(greeted.popleft()[1])
            if self.settling and (model := self.settled()) is not None:
                self.settling = None
                self.answer(model)


if __name__ == "__main__":
    Player(**json.loads(sys.argv[1])).run()
