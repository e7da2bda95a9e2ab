# SPDX-License-Identifier: Apache-2.0
"""A hostile host on the broker: the hub stays up, its memory is bounded, it says so once, and other hosts are right."""

import contextlib
import json
import pathlib
import re
import threading
import time

from harness.expect import equal, eventually
from harness.runner import test

from . import engine, hosts, mqtt, played, servers

MANUAL = pathlib.Path(__file__).resolve().parents[3] / "packaging/man/statusd-mqtt.8.md"
SAYS = 12
"""The most lines that a kind of attack may add to the journal, of both programs of the hub."""
GROWTH = 48
"""The most memory, in MB, that an attack may add to the hub."""


def from_the_manual(marker):
    """The example of the manual with this text."""
    examples = re.findall(r"^```\w*\n(.*?)^```$", MANUAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return next(example for example in examples if marker in example)


class Stage:
    """A broker as the manual describes it, without TLS, a hub, and two hosts: one good, one evil."""

    def __init__(self, has_rights=True):
        self.lines = ["allow_anonymous true"]
        if has_rights:
            self.lines = ["allow_anonymous false", "password_file FOLDER/passwords", "acl_file FOLDER/acl"]
        self.broker = engine.Mosquitto(lines=self.lines)
        (self.broker.folder / "acl").write_text(from_the_manual("pattern readwrite"))
        self.broker.passwords(good="good", evil="evil", mon1="mon1")
        self.epoch, self.count, self.hub = int(time.time() * 1000), 0, None

    def __enter__(self):
        try:
            self.broker.start()
            section = {"broker": f"mqtt://127.0.0.1:{self.broker.port}", "host": "mon1", "user": "mon1", "publish": False, "follow": ["*"]}
            self.hub = hosts.Host("mon1", section, "limits: { servers: 3000 }\naccept: any\n")
            credentials = self.hub.daemon.folder / "credentials"
            credentials.mkdir()
            (credentials / "mqtt.password").write_text("mon1\n")
            self.hub.environment["CREDENTIALS_DIRECTORY"] = str(credentials)
            self.hub.start()
            self.good, self.evil = self.client("good"), self.client("evil")
            self.hello(self.good, "good")
            self.hello(self.evil, "evil")
            self.is_right()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.hub:
            self.hub.close()
        self.broker.__exit__()

    def client(self, name):
        return mqtt.Client(self.broker.addresses[0], f"test-{name}", user=name, password=name)

    def state(self, number, **more):
        return json.dumps({"state": "ready", "epoch": self.epoch, "machine": f"{number:032x}", "version": "0.1.0",
                           "at": servers.stamp(time.time() * 1000), "servers": 1, **more}).encode()

    def hello(self, client, name):
        client.publish(f"statusd/1/{name}/$state", self.state(1 if name == "good" else 2))

    def refused(self, topic, payload):
        """The evil host publishes what it may not; mosquitto drops it, and may close the connection."""
        with contextlib.suppress(ConnectionError), mqtt.Client(self.broker.addresses[0], "refused", user="evil", password="evil") as client:
            client.publish(topic, payload)

    def server(self, server, text, **more):
        """The payload of a server."""
        self.count += 1
        now = servers.stamp(time.time() * 1000)
        return servers.payload({
            "name": server, "source": "push", "phase": "loaded", "stale": False, "refreshable": False, "refreshing": False,
            "selected": False, "revision": self.count,
            "status": {"text": text, "level": "ok", "changedAt": now, "levelChangedAt": now, "updatedAt": now}, **more}, self.epoch)

    def is_right(self):
        """A change of the good host reaches the hub within seconds, and both programs run; returns the seconds."""
        text = f"right {self.count}"
        self.good.publish("statusd/1/good/db", self.server("db", text))
        began = time.monotonic()
        eventually(lambda: self.hub.daemon.text("db@good") == text if self.known("db@good") else False, "the good host's change")
        assert self.hub.process.poll() is None, f"statusd-mqtt ended: {self.hub.log()[-500:]}"
        assert self.hub.daemon.process.poll() is None, f"statusd ended: {self.hub.daemon.log()[-500:]}"
        return time.monotonic() - began

    def known(self, name):
        return any(server["name"] == name for server in self.hub.call("List")["servers"])

    def of(self, host):
        """The hub's servers of a host."""
        return [server for server in self.hub.call("List")["servers"] if server["name"].endswith(f"@{host}")]

    def memory(self):
        return self.hub.memory() + self.hub.memory(self.hub.daemon.process)

    def said(self):
        """The lines about the evil host, but for those that the daemon writes of each server that changes."""
        return [line for line in (self.hub.log() + self.hub.daemon.log()).splitlines()
                if re.search(r"evil|limit|too many|drop", line) and not re.search(r"^statusd: (\w+: )?(\S+@)?evil\d*(: | added| removed)", line)]

    @contextlib.contextmanager
    def attack(self, what, growth=GROWTH, said=SAYS):
        """Checks and prints what an attack costs."""
        memory, lines = self.memory(), len(self.said())
        yield
        seconds = self.is_right()
        more, told = self.memory() - memory, len(self.said()) - lines
        print(f"     {what}: right after {seconds:.1f} s, {memory:.0f} MB + {more:.0f} MB, {told} lines in the journal")
        assert more <= growth, f"{what}: the hub has {more:.0f} MB more"
        assert told <= said, f"{what}: {told} lines, such as {self.said()[-3:]}"


def flood(client, messages):
    """Publishes all of these, as fast as the broker takes them; only the answers are read meanwhile."""
    done = threading.Event()

    def read():
        client.socket.settimeout(0.2)
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                client.read()
                client.messages.clear()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for topic, payload in messages:
            client.socket.sendall(mqtt.publish(topic, payload, 0))
    finally:
        done.set()
        reader.join()
        client.socket.settimeout(15)


@test("with the rights that the manual shows, a host writes only below its own name, and reads nothing else", limit=60)
def rights():
    with Stage() as stage:
        stage.refused("statusd/1/good/db", stage.server("db", "forged"))
        stage.refused("statusd/1/good/$state", stage.state(1, state="stopped", epoch=stage.epoch + 1))
        stage.refused("statusd/1/good/db", b"")
        stage.evil.publish("statusd/1/evil/own", stage.server("own", "true"))
        stage.evil.subscribe("statusd/1/#")
        stage.is_right()
        eventually(lambda: stage.known("own@evil"), "the own server")
        equal({row["name"]: row["state"] for row in stage.hub.call("Hosts")["hosts"]}, {name: "ready" for name in ("evil", "good", "mon1")})
        equal({topic.split("/")[2] for topic, _, _ in stage.evil.silence(0.5)}, {"evil"})
        # The hub may write nothing: mosquitto of 3.1.1 acknowledges and drops it.
        with contextlib.suppress(ConnectionError), stage.client("mon1") as hub:
            hub.publish("statusd/1/good/db", b"")
        stage.is_right()


@test("what no statusd sends changes nothing: invalid and deep JSON, invalid UTF-8, wrong types, huge payloads, odd topics", limit=100)
def nonsense():
    deep = b"[" * 15_000 + b"]" * 15_000
    payloads = [b"", b"x", b"{", b"null", b"[]", b"{}", b"\xff\xfe\0", b'{"epoch":1}', b'{"epoch":"x","name":"a"}', deep,
                b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b'{"epoch":99999999999999999999}', b'{"name":"\xc3("}', b"\0" * 4097]
    with Stage() as stage:
        with stage.attack("nonsense", said=3 * SAYS):
            for payload in payloads:
                for topic in ("a", "$state", "$claim", "$x", "a/b", "", "x" * 200, "a b", "_", "\u202e", "é"):
                    stage.evil.publish(f"statusd/1/evil/{topic}", payload)
        stage.hello(stage.evil, "evil")
        with stage.attack("wrong members"):
            for more in ({"phase": "burning"}, {"status": 3}, {"status": None}, {"revision": -1}, {"revision": 2 ** 63 - 1}, {"values": [1]},
                         {"name": "other"}, {"stale": "yes"}, {"description": "\x1b[31m" * 9}, {"values": [{"name": "x" * 999, "value": 1, "unit": ""}] * 99}):
                stage.evil.publish("statusd/1/evil/odd", stage.server("odd", "text", **more))
        with stage.attack("1 MiB"):
            for number in range(50):
                stage.evil.publish(f"statusd/1/evil/large{number % 5}", b"y" * (1 << 20))
        stage.evil.publish("statusd/1/evil/text", stage.server("text", "\x1b]0;title\x07 \u202e and more"))
        eventually(lambda: stage.known("text@evil"), "a text")
        assert "\x1b" not in stage.hub.daemon.done("list"), "a control character on the terminal"
        assert "\x1b" not in stage.hub.log(), "a control character in the journal"
        assert not any(server["name"].startswith("large") for server in stage.of("evil"))
        equal({row["name"] for row in stage.hub.call("Hosts")["hosts"]}, {"evil", "good", "mon1"})


@test("100,000 topics of a host fill its own limit, and not the hub", limit=150)
def many_topics():
    with Stage() as stage:
        payload = stage.server("s", "one of many")
        with stage.attack("100,000 topics", said=2 * SAYS):
            flood(stage.evil, ((f"statusd/1/evil/s{number}", payload) for number in range(100_000)))
        assert len(stage.of("evil")) <= 1024, len(stage.of("evil"))


@test("without rights at the broker, 20,000 invented hosts take 2 KB each and nothing from others", limit=150)
def many_hosts():
    with Stage(has_rights=False) as stage:
        with stage.attack("20,000 hosts", said=5 * SAYS):
            flood(stage.evil, ((f"statusd/1/evil{number}/$state", stage.state(number)) for number in range(20_000)))
        stage.hub.daemon.done("post", "own", "still here")
        # A host that is invented has room for no servers of others.
        stage.good.publish("statusd/1/good/second", stage.server("second", "also here"))
        eventually(lambda: stage.known("second@good"), "another server of the good host")


@test("a flood of retained messages and 10,000 messages a second do not delay other hosts for more than seconds", limit=150)
def floods():
    with Stage() as stage:
        with stage.attack("20,000 retained and empty messages"):
            full = stage.server("flood", "on and off")
            flood(stage.evil, ((f"statusd/1/evil/f{number // 2 % 100}", b"" if number % 2 else full) for number in range(20_000)))
        for second in range(3):
            with stage.attack(f"10,000 messages in second {second + 1}"):
                flood(stage.evil, ((f"statusd/1/evil/f{number % 10}", stage.server(f"f{number % 10}", f"flood {number}")) for number in range(10_000)))
        # The newest state of what was flooded is right in the end, too.
        last = {f"f{number}": f"last {number}" for number in range(10)}
        for name, text in last.items():
            stage.evil.publish(f"statusd/1/evil/{name}", stage.server(name, text))
        played.until(lambda: {server["name"].partition("@")[0]: (server.get("status") or {}).get("text") for server in stage.of("evil")
                              if server["name"].partition("@")[0] in last} == last, "the end of the flood", patience=30)

