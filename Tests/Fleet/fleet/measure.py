# SPDX-License-Identifier: Apache-2.0
"""What a hub costs, and how fast it is, with played hosts on a broker."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time

from harness.varlink import INTERFACE, Connection

from . import checker, engine, hosts, played

SERVERS = 200_000


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def hub_of(broker, **more):
    """A hub that follows all hosts."""
    urls = [f"mqtt://{address}:{port}" for address, port in broker.addresses]
    return hosts.Host("hub", {"broker": urls, "host": "hub", "publish": False, "follow": ["*"], **more},
                      f"limits: {{ servers: {SERVERS} }}\nservers: {{ own: {{ push: true }} }}\n")


def count(hub):
    """The number of hosts that are ready there, and of their servers."""
    table = [row for row in hub.call("Hosts")["hosts"] if row["name"] != "hub"]
    return sum(row["state"] == "ready" for row in table), sum(row["servers"] for row in table)


def complete(hub, model, patience=120):
    """Waits until the hub has all of these; returns the seconds."""
    ready = sum(host["state"] == "ready" for host in model.values())
    wanted = sum(len(host["servers"]) for host in model.values())
    return played.until(lambda: count(hub) == (ready, wanted), f"{wanted} servers, of {count(hub)}", patience, pause=0.2)[1]


def right(hub, model):
    """What is wrong on the hub."""
    return checker.differences(model, hub.call("List")["servers"], hub.call("Hosts")["hosts"], own={"own", "hub"})


def until_right(hub, model, patience, began=None):
    """Waits until nothing is wrong on the hub; returns how long it took since `began`, or what is still wrong."""
    began = began or time.monotonic()
    wrong = []

    def check():
        wrong[:] = right(hub, model)
        return not wrong

    try:
        played.until(check, "right", patience, pause=0.3)
        return f"{time.monotonic() - began:.1f} s"
    except RuntimeError:
        return f"NOT within {patience:.0f} s: {len(wrong)} differences, {wrong[:2]}"


def weight(hub):
    return f"statusd {hub.memory(hub.daemon.process):.0f} MB, statusd-mqtt {hub.memory():.0f} MB"


class Path:
    """The way of a change: from a real host's Post to the stream of the hub."""

    def __init__(self, host, hub):
        self.post, self.stream = Connection(host.daemon.socket), Connection(hub.daemon.socket)
        self.stream.send("Watch", {"server": f"db@{host.name}"}, more=True)
        self.stream.receive()
        self.number = 0

    def once(self):
        """The seconds of a change. Only bytes are handled meanwhile, as for the pair."""
        self.number += 1
        text = f"change {self.number} of a path"
        call = {"method": f"{INTERFACE}.Post", "parameters": {"server": "db", "text": text}}
        message, found = json.dumps(call).encode() + b"\0", b""
        began = time.perf_counter()
        self.post.socket.sendall(message)
        while text.encode() not in found:
            found += self.stream.socket.recv(65536)
        seconds = time.perf_counter() - began
        self.post.receive()
        return seconds


class Pair:
    """mosquitto_pub and mosquitto_sub, which stay connected, for comparison."""

    def __init__(self, address):
        to = ["-h", address[0], "-p", str(address[1]), "-t", "bare/topic", "-q", "1"]
        self.subscriber = subprocess.Popen(["mosquitto_sub", *to], stdout=subprocess.PIPE)
        self.publisher = subprocess.Popen(["mosquitto_pub", *to, "-r", "-l"], stdin=subprocess.PIPE)
        self.number = 0
        # Until both are there, lines are lost.
        while not select.select([self.subscriber.stdout], [], [], 0.2)[0]:
            self.send()
        while select.select([self.subscriber.stdout], [], [], 0.2)[0]:
            os.read(self.subscriber.stdout.fileno(), 65536)

    def send(self):
        self.number += 1
        line = f"{self.number:08d}{'x' * 400}\n".encode()
        os.write(self.publisher.stdin.fileno(), line)
        return line

    def once(self):
        """The seconds of a line, from one program to the other."""
        began = time.perf_counter()
        line, found = self.send(), b""
        while not found.endswith(line):
            found += os.read(self.subscriber.stdout.fileno(), 65536)
        return time.perf_counter() - began

    def close(self):
        for process in (self.publisher, self.subscriber):
            process.kill()
            process.wait()


def latencies(way, pair, rounds=10, each=100):
    """The times of both, in rounds that take turns."""
    found = {way: [], pair: []}
    for _ in range(rounds):
        for one, times in found.items():
            times += [one.once() for _ in range(each)]
    return found[way], found[pair]


def line(about, text):
    print(f"{about:58} {text}", flush=True)


def mosquitto(size, patience):
    """One broker, and `size` hosts with ten servers each."""
    with engine.Mosquitto() as broker, played.Fleet(broker.addresses, size - 1000, shares=2, wrong=0) as fleet:
        began = time.monotonic()
        fleet.all("start")
        thousand = fleet.add(1000)
        thousand.order("start")
        model = fleet.settle(beat=False, patience=patience)
        line(f"{size} hosts with 10 servers connect and publish", f"{time.monotonic() - began:.1f} s, mosquitto {broker.memory()[0]} MB")
        hub = hub_of(broker)
        sender = hosts.Host("sender", {"broker": f"mqtt://127.0.0.1:{broker.port}", "host": "sender"}, "servers: { db: { push: true } }\n")
        try:
            hub.daemon.start()
            idle = hub.memory(hub.daemon.process)
            hub.start_carrier()
            line("a new hub is complete", f"{complete(hub, model, patience):.1f} s")
            at_once = weight(hub)
            wrong = right(hub, model)
            line("the checker", f"{len(wrong)} differences {wrong[:3]}")
            # Until then, the history is written.
            time.sleep(5)
            line("its memory", f"{weight(hub)}, at first {at_once}; statusd before {idle:.0f} MB")
            hub.end_carrier(signal.SIGTERM)
            hub.daemon.process.terminate()
            hub.daemon.process.wait(patience)
            is_ready = hub.daemon.launch()
            line("the hub restarts: ready", f"{played.until(is_ready, 'READY=1', patience)[1]:.1f} s")
            hub.start_carrier()
            line("the hub restarts: right", f"{until_right(hub, model, patience)}; {weight(hub)}")
            sender.start()
            played.until(lambda: any(row["name"] == "sender" and row["servers"] for row in hub.call("Hosts")["hosts"]), "the sender")
            line("statusd-mqtt of a host with one server, idle", f"{sender.memory():.1f} MB")
            with contextlib.closing(Pair(broker.addresses[0])) as bare:
                way, pair = latencies(Path(sender, hub), bare)
            for part, name in ((0.5, "p50"), (0.99, "p99")):
                ours, bare = percentile(way, part) * 1e6, percentile(pair, part) * 1e6
                line(f"Post on a host to the hub's stream, {name}", f"{ours:.0f} µs; mosquitto_pub and mosquitto_sub {bare:.0f} µs; {ours / bare:.2f} ×")
            began = time.monotonic()
            fleet.kill(thousand)
            played.until(lambda: sum(row["state"] == "lost" for row in hub.call("Hosts")["hosts"]) == 1000, "1000 lost hosts")
            line("kill -9 of 1,000 hosts, until all are lost", f"{time.monotonic() - began:.1f} s")
        finally:
            for host in (hub, sender):
                host.close()


def nats(program, size, patience):
    """A cluster of three: a node dies under load, and then another one."""
    with engine.Nats(program) as broker, played.Fleet(broker.addresses, size, shares=2, wrong=0) as fleet:
        began = time.monotonic()
        fleet.all("start")
        model = fleet.settle(beat=False, patience=patience)
        line(f"NATS, three nodes: {size} hosts connect and publish", f"{time.monotonic() - began:.1f} s, {broker.memory()} MB")
        hub = hub_of(broker)
        try:
            hub.start()
            line("a new hub is complete", f"{complete(hub, model, patience):.1f} s; {weight(hub)}")
            wrong = right(hub, model)
            line("the checker", f"{len(wrong)} differences {wrong[:3]}")
            fleet.all("play", rate=50)
            time.sleep(3)
            broker.nodes[0].kill()
            began = time.monotonic()
            time.sleep(2)
            fleet.all("play", rate=0)
            model = fleet.settle(patience=patience)
            acknowledged = time.monotonic() - began
            line("a node is killed under load, until all is right again",
                 f"{until_right(hub, model, patience, began)} (all hosts acknowledged after {acknowledged:.1f} s)")
            broker.nodes[1].kill()
            for seconds in (30, 170):
                time.sleep(seconds)
                states = {}
                for row in hub.call("Hosts")["hosts"]:
                    states[row["state"]] = states.get(row["state"], 0) + 1
                line(f"another {seconds} s later, without two of three nodes", f"the hub shows {states}")
            print("\n".join(f"    {text}" for text in hub.log().splitlines()[-4:]))
            broker.nodes[1].start_alone()
            broker.nodes[0].start_alone()
            began = time.monotonic()
            model = fleet.settle(patience=patience)
            line("both are back, until all is right again", until_right(hub, model, patience, began))
        finally:
            hub.close()
