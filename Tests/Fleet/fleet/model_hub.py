# SPDX-License-Identifier: Apache-2.0
"""A hub in a few lines of Python, right or with a fault, for the test of the checker."""

import json
import time

from . import mqtt
from .checker import LEVELS

FAULTS = {
    "order": "an older state replaces a newer one",
    "late": "the late will of an earlier connection counts",
    "will": "a will is not heard",
    "removal": "a removed server stays",
    "stale": "the servers of a lost host are not stale",
    "text": "a text is cut",
    "missing": "a server is missing",
    "parent": "the parent is not the host's",
    "count": "Hosts counts a server too many",
    "twice": "a server is listed twice",
    "changed": "the time of a change is the hub's",
}


class ModelHub:
    """Follows all hosts over one connection; what is shown is made when it is asked for."""

    def __init__(self, address, fault=None):
        self.fault, self.hosts, self.servers = fault, {}, {}
        self.client = mqtt.Client(address, f"hub-{fault}")
        self.client.subscribe("statusd/1/#")

    def follow(self, patience=20, quiet=0.5):
        """Reads until nothing more comes."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            messages = self.client.silence(quiet, end - time.monotonic())
            for topic, payload, _ in messages:
                self.hear(topic.split("/", 3)[2:], payload)
            if not messages:
                return

    def hear(self, path, payload):
        host, name = path
        if name == "$state":
            state = json.loads(payload)
            known = self.hosts.get(host)
            if known and state["epoch"] < known["epoch"] and self.fault != "late":
                return
            if self.fault == "will" and state["state"] == "lost":
                return
            self.hosts[host] = {**(known or {}), **state}
        elif not payload:
            if self.fault != "removal":
                self.servers.pop((host, name), None)
        else:
            server = json.loads(payload)
            known = self.servers.get((host, name))
            newer = not known or (server["epoch"], server["revision"]) > (known["epoch"], known["revision"])
            if newer or self.fault == "order":
                self.servers[host, name] = server

    def list(self):
        """As the hub's List."""
        shown = []
        for (host, name), server in sorted(self.servers.items()):
            state = self.hosts.get(host) or {"state": "lost", "epoch": 0}
            current = state["state"] == "ready" and state["epoch"] == server["epoch"]
            made = {**server, "name": f"{name}@{host}", "source": "mqtt", "refreshable": False,
                    "stale": server["stale"] or not current and self.fault != "stale"}
            for key in ("group", "parent"):
                made[key] = f"{server[key]}@{host}" if server.get(key) else host
            shown.append(made)
        for host, state in self.hosts.items():
            made = {"name": host, "source": "mqtt", "phase": "loaded", "stale": False, "refreshable": False}
            made["status"] = {"level": LEVELS.get(state["state"]), "text": state["state"]}
            if state["state"] == "stopped":
                made.update(phase="failed", status=None)
            shown.append(made)
        self.spoil([server for server in shown if server.get("status") and "@" in server["name"]], shown)
        return shown

    def spoil(self, some, shown):
        """A fault in what is shown."""
        if self.fault == "missing":
            shown.remove(some[len(some) // 2])
        elif self.fault == "twice":
            shown.append(some[0])
        elif self.fault == "parent":
            some[0]["parent"] = None
        elif self.fault in ("text", "changed"):
            status = next(server for server in some if server["status"])["status"]
            status.update({"text": status["text"][:-1]} if self.fault == "text" else {"changedAt": "2000-01-01T00:00:00.000Z"})

    def table(self):
        """As the hub's Hosts."""
        counts = {host: sum(1 for other, _ in self.servers if other == host) for host in self.hosts}
        if self.fault == "count":
            counts[next(iter(counts))] += 1
        return [{"name": host, "state": state["state"], "version": state.get("version"), "servers": counts[host]}
                for host, state in self.hosts.items()]
