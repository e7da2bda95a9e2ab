# SPDX-License-Identifier: Apache-2.0
"""A fleet under faults: three real hosts and many played ones on one hub; a seed decides what happens, in which order."""

import random
import re
import signal
import time

from . import checker, engine, hosts, mqtt, network, played

QUIET = 60
"""The seconds in which a hub must be right, once all is quiet: a cut cable is noticed after one and a half keepalives of
15 s, a broker is tried again after at most 25 s, and a hub that comes back reads all twice within 6 s."""
QUIET_END = 10
ACTIONS = {
    "kill statusd": 8, "kill statusd-mqtt": 8, "restart statusd-mqtt": 6, "kill the hub's statusd": 4, "restart the hub's statusd": 3,
    "kill the hub's statusd-mqtt": 5, "kill the broker": 3, "restart the broker": 3, "cut": 4, "reset played hosts": 5,
    "stop played hosts": 5, "start played hosts": 6, "kill played hosts": 3, "take over": 4, "late": 3, "reload": 3,
}


class Run:
    """One run."""

    def __init__(self, seconds, seed, count, rate=60):
        self.seconds, self.seed, self.rate = seconds, seed, rate
        self.random = random.Random(seed)
        self.begun, self.done, self.wrong, self.undo = time.monotonic(), [], [], []
        self.broker = self.net = self.fleet = self.hub = None
        self.hosts, self.poster, self.tails = [], None, []
        self.count, self.converged = count, None

    def note(self, text):
        self.done.append(f"{time.monotonic() - self.begun:.1f} s: {text}")

    def run(self):
        try:
            self.set_up()
            self.play()
            self.come_to_rest()
        finally:
            self.tear_down()

    # The stage

    def set_up(self):
        played.many_descriptors()
        self.broker = engine.Mosquitto()
        self.net = network.Network(self.broker.folder)
        # Real hosts reach the broker over the bridge; the hub and the played hosts, over the loopback interface.
        configuration = self.broker.folder / "mosquitto.conf"
        configuration.write_text(configuration.read_text() + f"listener {self.broker.port} {self.net.address}\n")
        self.broker.start()
        self.fleet = played.Fleet(self.broker.addresses, self.count, size=4, seed=self.seed, shares=3)
        self.fleet.all("start", share=0.9)
        local, remote = (f"mqtt://{address}:{self.broker.port}" for address in ("127.0.0.1", self.net.address))
        self.hub = hosts.Host("hub", {"broker": local, "host": "hub", "publish": False, "follow": ["*"]},
                              "servers: { own: { push: true } }\n")
        self.hub.start()
        for number in range(3):
            name = f"real{number + 1}"
            host = hosts.Host(name, {"broker": [remote]}, f"accept: any\n{hosts.SERVERS}", self.net.add(name))
            self.hosts.append(host)
            host.start()
        self.poster = hosts.Poster(self.hosts, random.Random(f"{self.seed} posts"))

    def tear_down(self):
        for host in (*self.hosts, self.hub):
            if host:
                self.inspect(host)
                self.tails += [f"{host.name}, {program}: {line}" for program, text in (("statusd", host.daemon.log()), ("statusd-mqtt", host.log()))
                               for line in text.splitlines()[-5:]]
                host.close()
        if self.fleet:
            self.fleet.__exit__()
        if self.net:
            self.net.close()
        if self.broker:
            self.broker.__exit__()

    def inspect(self, host):
        """A program that crashed is wrong, whatever the hub shows."""
        for text, program in ((host.daemon.log(), "statusd"), (host.log(), "statusd-mqtt")):
            crash = re.search(r"^.*(Fatal error|Stack dump|Segmentation|Program crashed).*$", text, flags=re.MULTILINE)
            if crash:
                self.wrong.append(f"{program} of {host.name} crashed: {crash[0]}")

    # The play

    def play(self):
        """Random actions until the time is over; what an action left open is put right at its time."""
        self.fleet.all("play", rate=self.rate / len(self.fleet.shares))
        end = time.monotonic() + self.seconds
        next_action = time.monotonic() + 2
        while time.monotonic() < end:
            self.poster.post(self.poster.chance.randrange(1, 5))
            self.mend(time.monotonic())
            if time.monotonic() >= next_action:
                self.act(self.random.choices(list(ACTIONS), list(ACTIONS.values()))[0])
                next_action = time.monotonic() + self.random.uniform(0.5, 4)
            time.sleep(0.1)

    def mend(self, now):
        for entry in [entry for entry in self.undo if entry[0] <= now]:
            self.undo.remove(entry)
            entry[1]()

    def later(self, seconds, function):
        self.undo.append((time.monotonic() + seconds, function))

    def act(self, action):
        host = self.random.choice(self.hosts)
        self.note(f"{action} ({host.name})")
        getattr(self, "do_" + re.sub(r"\W", "_", action.replace("'", "")))(host)

    def do_kill_statusd(self, host):
        host.daemon.stop(signal.SIGKILL)
        time.sleep(self.random.choice((0, 0, 2)))
        host.daemon.start()

    def again(self, host, number):
        """Ends a statusd-mqtt with a signal, and starts it again."""
        if host.process.poll() is None:
            host.end_carrier(number)
        time.sleep(self.random.choice((0, 0.5, 2)))
        host.start_carrier()

    def do_kill_statusd_mqtt(self, host):
        self.again(host, signal.SIGKILL)

    def do_restart_statusd_mqtt(self, host):
        self.again(host, signal.SIGTERM)

    def do_kill_the_hubs_statusd(self, _):
        self.do_kill_statusd(self.hub)

    def do_restart_the_hubs_statusd(self, _):
        self.hub.daemon.stop()
        self.hub.daemon.start()

    def do_kill_the_hubs_statusd_mqtt(self, _):
        self.again(self.hub, signal.SIGKILL)

    def do_kill_the_broker(self, _):
        self.restart_broker(signal.SIGKILL)

    def do_restart_the_broker(self, _):
        self.restart_broker(signal.SIGTERM)

    def restart_broker(self, number):
        """It forgets all; the hosts that are away cannot tell it again."""
        for node in self.broker.nodes:
            node.end(number)
        time.sleep(self.random.choice((0, 1, 3)))
        self.broker.start()
        self.fleet.all("forgotten")
        for dead in self.fleet.dead.values():
            dead["state"] = "forgotten"

    def do_cut(self, host):
        number = self.hosts.index(host)
        self.net.cut(number)
        self.later(30, lambda: self.net.cut(number, False))

    def do_reset_played_hosts(self, _):
        self.fleet.all("end", how="reset", share=self.random.uniform(0, 0.2))

    def do_stop_played_hosts(self, _):
        self.fleet.all("end", how="stop", share=self.random.uniform(0, 0.2))

    def do_start_played_hosts(self, _):
        self.fleet.all("start", share=self.random.uniform(0.5, 1))

    def do_kill_played_hosts(self, _):
        """kill -9 of a process with some hosts, which others replace."""
        share = self.random.choice(self.fleet.shares)
        share.order("play", rate=0)
        share.send("settle", beat=True)
        share.model = share.receive()
        count = len(share.model)
        self.fleet.kill(share)
        if len(self.fleet.dead) < 2 * self.count:
            new = self.fleet.add(min(count, 50))
            new.order("start")
            new.order("play", rate=self.rate / 3)

    def do_late(self, _):
        self.fleet.all("late")

    def do_take_over(self, host):
        """Somebody connects with the client ID of a host's connection."""
        found = re.findall(rf"New client connected from {re.escape(self.net.prefix)}{self.hosts.index(host) + 2}:\d+ as (\S+)",
                           self.broker.log())
        if found:
            try:
                mqtt.Client(self.broker.addresses[0], self.random.choice(found[-2:]), timeout=2).stop()
            except OSError:
                pass

    def do_reload(self, host):
        text = host.daemon.file.read_text()
        number = self.random.randrange(100)
        host.daemon.file.write_text(re.sub(r"The database[ 0-9]*", f"The database {number}", text))
        host.call("Reload")

    # The end

    def come_to_rest(self):
        """Undoes what is open, waits until all is quiet, and compares."""
        for _, function in self.undo:
            function()
        self.undo = []
        self.fleet.all("play", rate=0)
        model = self.fleet.settle()
        for host in (*self.hosts, self.hub):
            if host.process.poll() is not None:
                self.wrong.append(f"statusd-mqtt of {host.name} ended by itself with {host.process.returncode}: {host.log()[-300:]}")
                host.start_carrier()
        for host in self.hosts:
            # Another description is published only with the next change.
            host.call("Post", server="db", text="at rest", level="ok")
        self.note("quiet")
        began = time.monotonic()
        self.wrong += self.compare(model, {}, QUIET)
        if not self.wrong:
            self.converged = time.monotonic() - began
            self.wrong += self.compare(model, self.end_of_one(), QUIET_END)

    def compare(self, model, ended, patience):
        """What is still wrong after this time."""
        end = time.monotonic() + patience
        while True:
            real = {host.name: ended.get(host.name) or host.model() for host in self.hosts}
            found = checker.differences({**model, **real}, self.hub.call("List")["servers"], self.hub.call("Hosts")["hosts"],
                                        own={"own", "hub"})
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.5)

    def end_of_one(self):
        """One of the real hosts is stopped, or dies."""
        state, host = self.random.choice(("stopped", "lost")), self.random.choice(self.hosts)
        model = host.model(state)
        # The measured load changes by itself; only what was said before the end counts.
        host.end_carrier(signal.SIGTERM if state == "stopped" else signal.SIGKILL)
        self.note(f"{host.name} is {state}")
        return {host.name: model}

    def summary(self):
        """Lines about the run."""
        states = {}
        for host in self.fleet.model().values():
            states[host["state"]] = states.get(host["state"], 0) + 1
        return [f"{len(self.done)} actions, {self.poster.count} posts, played hosts: {states}",
                f"right {self.converged:.1f} s after the end" if self.converged is not None else "not right"]
