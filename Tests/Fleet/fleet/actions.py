# SPDX-License-Identifier: Apache-2.0
"""What played hosts do by themselves, at random."""

import json

from . import mqtt, servers


class Actions:
    """The part of the player that does random things; each keeps the model true."""

    def act(self):
        """One random thing that a host does."""
        host = self.chance.choice(self.hosts)
        kind = self.chance.choices(
            ("change", "burst", "touch", "remove", "add", "twice", "old", "late", "reconnect", "stop", "takeover"),
            (40, 10, 8, 5, 6, 4, 4, 3, 3, 1, 1))[0]
        if not host.up or host.stopping:
            return
        self.done[kind] += 1
        getattr(self, f"do_{kind}")(host)
        if host.up and host.out:
            self.flush(host)

    def some(self, host):
        return self.chance.choice(list(host.servers)) if host.servers else servers.name(0)

    def do_change(self, host):
        name = self.some(host)
        host.change(name, self.chance)
        host.tell(name)

    def do_burst(self, host):
        """Several changes; those of a topic stay in order, and the topics are shuffled."""
        told = []
        for _ in range(self.chance.randrange(2, 12)):
            name = self.some(host)
            host.change(name, self.chance)
            told.append((name, servers.payload(host.servers[name], host.epoch)))
        order = [name for name, _ in told]
        self.chance.shuffle(order)
        for name in order:
            index = next(at for at, (other, _) in enumerate(told) if other == name)
            host.send(*told.pop(index))

    def do_touch(self, host):
        """A status that was posted again unchanged."""
        name = self.some(host)
        server = host.servers.get(name)
        if server and server.get("status"):
            host.revision += 1
            status = {**server["status"], "updatedAt": servers.stamp(host.now())}
            host.servers[name] = {**server, "status": status, "revision": host.revision}
            host.tell(name)

    def do_remove(self, host):
        if len(host.servers) > 1:
            name = self.some(host)
            host.revision += 1
            del host.servers[name]
            host.gone.add(name)
            host.tell(name)

    def do_add(self, host):
        name = self.chance.choice([*host.gone, f"n{self.chance.randrange(20)}"])
        host.change(name, self.chance)
        host.tell(name)

    def do_twice(self, host):
        name = self.some(host)
        for _ in range(2):
            host.tell(name)

    def do_old(self, host):
        """An older state comes late; then the newest one once more."""
        name = self.some(host)
        if name in host.servers:
            old = servers.payload(host.servers[name], host.epoch)
            host.change(name, self.chance)
            host.tell(name)
            host.send(name, old)
            host.tell(name)

    def do_late(self, host):
        """The will of an earlier connection comes after `ready`. What is retained is then true again with the beat."""
        host.send("$state", json.dumps({"state": "lost", "epoch": host.epoch - 1, "machine": host.machine}).encode())

    def do_reconnect(self, host):
        self.close(host, reset=True)
        host.state = "lost"
        self.later(host, 1)

    def do_stop(self, host):
        """A clean stop: the broker has all before the end."""
        host.send("$state", host.said("stopped"))
        host.stopping = True
        self.flush(host)

    def do_takeover(self, host):
        """Another machine connects with the client ID of the host, and goes away."""
        try:
            mqtt.Client(tuple(self.brokers[(host.broker - 1) % len(self.brokers)]), f"statusd-{host.name}", timeout=2).stop()
        except OSError:
            pass
