# SPDX-License-Identifier: Apache-2.0
"""statusd-mqtt with a real mosquitto: what it publishes of one host, and when that is over."""

import json
import pathlib
import re
import signal
import time

from harness.attacker import need_root
from harness.broker import Bridge, Broker
from harness.daemon import Daemon, run
from harness.expect import contains, equal, eventually
from harness.installed import installed
from harness.runner import test

STATE, DB, WEB = "statusd/1/web1/$state", "statusd/1/web1/db", "statusd/1/web1/web"
CONFIGURATION = "accept: any\n"


def section(broker, **more):
    return json.dumps({"broker": broker.url, "host": "web1", **more})


@test("statusd-mqtt publishes each server as statusctl shows it, with the number of its connection, and empties a removed one")
def publishes():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon, broker.listener() as listener:
        daemon.done("post", "db", "all well")
        with Bridge(daemon, section(broker)) as bridge:
            ready = listener.message(STATE, state="ready")
            db = listener.message(DB)
            shown = json.loads(daemon.done("status", "db", "--json"))
            equal({**db, "selected": True}, {"epoch": ready["epoch"], **shown, "selected": True})
            equal(list(db)[0], "epoch")
            daemon.done("post", "web", "slow", "--level", "warning")
            equal(listener.message(WEB, phase="loaded")["status"]["level"], "warning")
            daemon.done("forget", "web")
            equal(listener.message(WEB), "")
            bridge.status("connected to 127.0.0.1:", "(MQTT 5), publishing 1 server")
            contains(bridge.manager.lines(), "READY=1")


@test("with SIGTERM a host is stopped, with SIGKILL it is lost, and the next connection has a higher number")
def ends():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon, broker.listener() as listener:
        daemon.done("post", "db", "up")
        with Bridge(daemon, section(broker)) as bridge:
            first = listener.message(STATE, state="ready")["epoch"]
            listener.message(DB)
            equal(bridge.stop(), 0)
            equal(listener.message(STATE)["state"], "stopped")
            bridge.start()
            second = listener.message(STATE)
            equal(second["state"], "ready")
            assert second["epoch"] > first, (first, second)
            listener.message(DB)
            bridge.stop(signal.SIGKILL)
            equal(listener.message(STATE), {"state": "lost", "epoch": second["epoch"], "machine": second["machine"]})


@test("a host whose own will came connects again, with a higher number, so that hubs take it for ready")
def own_will():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon, broker.listener() as listener:
        with Bridge(daemon, section(broker)):
            ready = listener.message(STATE, state="ready")
            will = {"state": "lost", "epoch": ready["epoch"], "machine": ready["machine"]}
            broker.publish(STATE, will)
            equal(listener.message(STATE, state="lost"), will)
            assert listener.message(STATE, state="ready")["epoch"] > ready["epoch"]


@test("a broker that was restarted and has forgotten everything is told again")
def broker_restarts():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "db", "up")
        with Bridge(daemon, section(broker)) as bridge:
            with broker.listener() as listener:
                first = listener.message(STATE, state="ready")["epoch"]
                listener.message(DB)
            broker.stop()
            bridge.logs("has closed the connection")
            daemon.done("post", "db", "down", "--level", "critical")
            broker.start()
            with broker.listener() as listener:
                assert listener.message(STATE, state="ready")["epoch"] > first
                equal(listener.message(DB)["status"]["text"], "down")


@test("nothing is said of a restart of statusd that lost nothing, and what has changed since is published")
def daemon_restarts():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon, broker.listener() as listener:
        daemon.done("post", "db", "up")
        with Bridge(daemon, section(broker)) as bridge:
            epoch = listener.message(STATE, state="ready")["epoch"]
            listener.message(DB)
            daemon.stop()
            daemon.start()
            daemon.done("post", "db", "down", "--level", "critical")
            seen = listener.message(DB)
            while seen["status"]["text"] != "down":
                seen = listener.message(DB)
            equal(seen["epoch"], epoch)
            equal([line for line in listener.seen if STATE in line and "ready" not in line], [])
            equal(bridge.process.poll(), None)


@test("servers that the daemon does not have any more are emptied at the broker, and so are those that are not to be published")
def leftovers():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon:
        for name in ("old", "db", "cache"):
            broker.publish(f"statusd/1/web1/{name}", {"epoch": 1, "name": name})
            daemon.done("post", "db" if name == "old" else name, "up")
        with broker.listener("statusd/1/web1/old") as old, broker.listener("statusd/1/web1/cache") as cache, broker.listener(DB) as db:
            assert old.message("statusd/1/web1/old") and cache.message("statusd/1/web1/cache") and db.message(DB)
            with Bridge(daemon, section(broker, publish=["d*"])):
                equal(db.message(DB)["status"]["text"], "up")
                equal((old.message("statusd/1/web1/old"), cache.message("statusd/1/web1/cache")), ("", ""))


@test("of two machines with the same name, the second publishes nothing, says why, and takes over when the first is gone")
def same_name():
    other = {"state": "ready", "epoch": 5, "first": 5, "machine": "0" * 32, "at": "2026-11-30T00:00:00.000Z"}
    with Broker() as broker, Daemon(CONFIGURATION) as daemon, broker.listener() as listener:
        daemon.done("post", "db", "up")
        broker.publish(STATE, other)
        with Bridge(daemon, section(broker)) as bridge:
            bridge.logs("another machine (00000000…) is already web1 at the broker; nothing is published")
            equal(len(listener.message("statusd/1/web1/$claim")["machine"]), 32)
            equal([line for line in listener.seen if DB in line], [])
            broker.publish(STATE, {**other, "state": "lost"})
            listener.message(STATE, state="lost")
            listener.message(STATE, state="ready")
            listener.message(DB)
            # The other one comes back, later than this one: it must yield, and everything is right again.
            higher = int(time.time() * 1000) + 10 ** 10
            broker.publish(STATE, {**other, "epoch": higher, "first": higher})
            listener.message(STATE, epoch=higher)
            again = listener.message(STATE, state="ready")
            assert again["epoch"] > higher and again["machine"] != other["machine"], again
            equal(listener.message(DB)["epoch"], again["epoch"])
            bridge.logs("this one came first and continues")


@test("of two real machines with the same name, both journals say so, and the second takes over when the first has stopped")
def two_machines():
    need_root()
    with Broker() as broker, Daemon(CONFIGURATION) as one, Daemon(CONFIGURATION) as two, broker.listener() as listener:
        one.done("post", "db", "of one")
        two.done("post", "db", "of two")
        copy = two.folder / "machine-id"
        copy.write_text("0123456789abcdef0123456789abcdef\n")
        elsewhere = ("unshare", "-m", "sh", "-c", f'mount --bind {copy} /etc/machine-id && exec "$@"', "sh")
        with Bridge(one, section(broker)) as first, Bridge(two, section(broker), start=False, prefix=elsewhere) as second:
            machine = listener.message(STATE, state="ready")["machine"]
            listener.message(DB)
            second.start()
            second.logs(f"another machine ({machine[:8]}…) is already web1 at the broker")
            first.logs("also wants to be web1 at the broker, and publishes nothing")
            equal([line for line in listener.seen if "of two" in line], [])
            equal(first.stop(), 0)
            listener.message(STATE, state="stopped")
            assert listener.message(STATE, state="ready")["machine"] != machine
            equal(listener.message(DB)["status"]["text"], "of two")
            equal(second.stop(), 0)


@test("a hub shows the servers of a host as they change, and stale when the host is lost; a reload changes what is followed")
def hub():
    with Broker() as broker, Daemon(CONFIGURATION) as host:
        follows = lambda *patterns: CONFIGURATION + "mqtt: " + json.dumps({"broker": broker.url, "publish": False, "follow": list(patterns)}) + "\n"
        with Daemon(follows("web1")) as daemon, Bridge(daemon, None) as bridge, Bridge(host, section(broker)) as other:
            bridge.status("following 1 host")
            host.done("post", "db", "up")
            eventually(lambda: "up" in daemon.ctl("status", "db@web1").out)
            host.done("post", "db", "down", "--level", "critical")
            daemon.done("wait", "db@web1", "--level", "critical", "--timeout", "10s")
            host.done("forget", "db")
            eventually(lambda: daemon.ctl("status", "db@web1").status != 0)
            host.done("post", "web", "up")
            eventually(lambda: "web@web1" in daemon.done("list"))
            other.stop(signal.SIGKILL)
            eventually(lambda: "stale" in daemon.ctl("status", "web@web1").out)
            contains(daemon.done("hosts"), "web1", "lost")
            daemon.file.write_text(follows("lab"))
            daemon.done("reload")
            bridge.status("following 0 hosts")
            daemon.file.write_text(CONFIGURATION)
            daemon.done("reload")
            bridge.status("no section “mqtt”")
            equal(bridge.stop(), 0)


@test("a broker that is stopped and comes back, after the wills of all hosts, makes no host lost on a hub")
def broker_stopped():
    hub_settings = lambda broker: CONFIGURATION + "mqtt: " + json.dumps({"broker": broker.url, "host": "hub", "publish": False, "follow": ["web*"]}) + "\n"
    with Broker() as broker, Daemon(CONFIGURATION) as host, Daemon(hub_settings(broker)) as daemon:
        host.done("post", "db", "up")
        with Bridge(daemon, None) as bridge, Bridge(host, section(broker)) as web:
            bridge.status("following 1 host")
            eventually(lambda: "db@web1" in daemon.done("list"))
            with daemon.follow("watch", "--all", "--json") as stream:
                broker.stop()
                broker.start()
                web.status("connected")
                bridge.status("connected", "following 1 host")
                host.done("post", "db", "later")
                texts = []
                while "later" not in texts:
                    server = json.loads(stream.next()).get("server", {})
                    texts.append(server.get("status", {}).get("text"))
                    assert server.get("name") != "web1", server


@test("a host puts right what another client writes below its name, whatever its numbers are")
def forged():
    follows = lambda broker: CONFIGURATION + "mqtt: " + json.dumps({"broker": broker.url, "publish": False, "follow": ["web1"]}) + "\n"
    with Broker() as broker, Daemon(CONFIGURATION) as host, Daemon(follows(broker)) as daemon:
        host.done("post", "db", "up")
        with Bridge(daemon, None), Bridge(host, section(broker)) as bridge:
            eventually(lambda: "up" in daemon.ctl("status", "db@web1").out)
            real = json.loads(host.done("status", "db", "--json"))
            for number, change in enumerate(({"epoch": 2 ** 63 - 1}, {"epoch": int(time.time() * 1000) + 10 ** 10},
                                             {"epoch": None, "revision": 2 ** 62})):
                epoch = json.loads(broker.message(STATE))["epoch"]
                wrong = {**real, "status": {**real["status"], "text": "forged"}, **change}
                broker.publish(DB, {**wrong, "epoch": wrong.get("epoch") or epoch})
                eventually(lambda: json.loads(broker.message(DB))["status"]["text"] != "forged")
                host.done("post", "db", f"true {number}")
                eventually(lambda: f"true {number}" in daemon.ctl("status", "db@web1").out and "stale" not in daemon.ctl("status", "db@web1").out)
            bridge.logs("another client of the broker has written statusd/1/web1/db")


@test("a message of 20 MB below another name neither ends the program of a hub nor fills its memory")
def huge():
    with Broker() as broker, Daemon(CONFIGURATION) as host, Daemon(CONFIGURATION) as daemon:
        (broker.folder / "huge").write_bytes(b"x" * 20_000_000)
        done = run("mosquitto_pub", "-h", "127.0.0.1", "-p", broker.port, "-q", "1", "-r", "-t", "statusd/1/web2/db", "-f", broker.folder / "huge")
        equal(done.status, 0, done.err)
        host.done("post", "db", "up")
        section_of_hub = section(broker, host="hub", publish=False, follow=["*"])
        daemon.file.write_text(CONFIGURATION + f"mqtt: {section_of_hub}\n")
        daemon.done("reload")
        with Bridge(daemon, None) as bridge, Bridge(host, section(broker)):
            eventually(lambda: "up" in daemon.ctl("status", "db@web1").out)
            peak, = re.findall(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{bridge.process.pid}/status").read_text())
            assert int(peak) < 30_000, f"{peak} kB"


@test("two programs with the same name on one machine take each other's connection, and say so")
def same_machine():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon, Bridge(daemon, section(broker)) as one:
        one.status("connected")
        with Bridge(daemon, section(broker)):
            one.logs("a second statusd-mqtt of this machine, or of a copy of it, publishes as web1 at the broker, and the two take turns")


@test("Home Assistant hears of this host as a device with a sensor for each server")
def discovery():
    with Broker() as broker, Daemon(CONFIGURATION) as daemon, broker.listener() as listener:
        daemon.done("post", "db", "up")
        with Bridge(daemon, section(broker, discovery="homeassistant")):
            device = listener.message("homeassistant/device/statusd-web1/config")
            equal((device["dev"]["name"], device["o"]["name"], device["availability_topic"]), ("web1", "statusd-mqtt", STATE))
            equal([(key, sensor["p"], sensor["state_topic"]) for key, sensor in device["cmps"].items()], [("db", "sensor", DB)])
            daemon.done("post", "web", "up")
            equal(sorted(listener.message("homeassistant/device/statusd-web1/config")["cmps"]), ["db", "web"])
            daemon.done("forget", "web")
            equal(listener.message("homeassistant/device/statusd-web1/config")["cmps"]["web"], {"p": "sensor"})


@test("what Home Assistant shows of a server is right, also before its first status, when it is stale, and after a failure")
def templates():
    jinja = installed("jinja2")
    # What Home Assistant warns of is an error here.
    environment = jinja.Environment(undefined=jinja.StrictUndefined)
    environment.filters["tojson"] = json.dumps
    configuration = CONFIGURATION + "servers: { db: { push: true, ttl: 1s }, bad: { exec: [/dev/null] } }\n"
    with Broker() as broker, Daemon(configuration) as daemon, broker.listener() as listener:
        eventually(lambda: json.loads(daemon.ctl("status", "bad", "--json").out)["phase"] == "failed")
        with Bridge(daemon, section(broker, discovery="homeassistant")):
            device = listener.message("homeassistant/device/statusd-web1/config")
            sensors, availability = device["cmps"], environment.from_string(device["availability_template"])
            equal([availability.render(value) for value in ({"value_json": json.loads(broker.message(STATE))}, {})], ["online", "offline"])

            def shown(name, message=None):
                if message is None:
                    message = json.loads(broker.message(f"statusd/1/web1/{name}"))
                # An empty message is that of a server that was removed.
                variables = {"value_json": message} if message else {}
                level, attributes = (environment.from_string(sensors[name][template]).render(variables)
                                     for template in ("value_template", "json_attributes_template"))
                return level, json.loads(attributes)

            equal(shown("db"), ("unknown", {"text": "no status yet", "since": None, "phase": "empty", "stale": False}))
            level, attributes = shown("bad")
            equal((level, attributes["phase"], attributes["since"]), ("unknown", "failed", None))
            contains(attributes["text"], "/dev/null")
            daemon.done("post", "db", "“well”", "--level", "warning")
            message = listener.message(DB, phase="loaded")
            wanted = {"text": "“well”", "since": message["status"]["changedAt"], "phase": "loaded", "stale": False}
            equal(shown("db", message), ("warning", wanted))
            equal(shown("db", listener.message(DB, stale=True)), ("unknown", {**wanted, "stale": True}))
            equal(shown("db", ""), ("unknown", {}))
