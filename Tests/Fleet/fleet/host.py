# SPDX-License-Identifier: Apache-2.0
"""A played host: what it has said, and the bytes that it still has to send."""

import json
import time

from . import mqtt, servers


class Host:
    """A host: what it has said (the model), and its connection."""

    def __init__(self, name, number, clock):
        self.name, self.number, self.clock = name, number, clock
        self.topic = f"statusd/1/{name}/"
        self.machine = f"{number:032x}"
        self.wanted, self.state = False, "never"
        self.epoch, self.revision = 0, 0
        self.servers, self.gone = {}, set()
        self.socket, self.up, self.stopping = None, False, False
        self.out, self.buffer = bytearray(), bytearray()
        self.unread, self.identifier, self.again, self.failures = 0, 0, 0.0, 0
        self.broker = number

    def now(self):
        """Its own clock, in milliseconds."""
        return int(time.time() * 1000) + self.clock

    def begin(self):
        """A new number for a new connection."""
        self.epoch = max(self.epoch + 1, self.now())

    def will(self):
        return (self.topic + "$state", json.dumps({"state": "lost", "epoch": self.epoch, "machine": self.machine}))

    def said(self, state):
        """The payload of `$state`."""
        return json.dumps({"state": state, "epoch": self.epoch, "machine": self.machine, "version": "0.1.0",
                           "at": servers.stamp(self.now()), "servers": len(self.servers)}).encode()

    def send(self, topic, payload, retain=True):
        self.identifier = self.identifier % 65535 + 1
        self.unread += 1
        self.out += mqtt.publish(self.topic + topic, payload, self.identifier, retain)

    def tell(self, name):
        """Publishes the newest state of a server, or that it is gone."""
        server = self.servers.get(name)
        self.send(name, servers.payload(server, self.epoch) if server else b"")

    def change(self, name, chance):
        """Changes a server, or adds it; it is told later."""
        old = self.servers.get(name)
        made = servers.changed(old, self.now(), chance) if old else servers.new(name, list(self.servers) or [name],
                                                                                self.now(), chance)
        self.revision += 1
        self.servers[name] = {**made, "revision": self.revision}
        self.gone.discard(name)
