# SPDX-License-Identifier: Apache-2.0
"""statusd-mqtt and brokers that refuse it, or that it must refuse; --check and --remove."""

import json
import subprocess

from harness.broker import Bridge, Broker
from harness.daemon import Daemon, run
from harness.expect import contains, equal, one_sentence
from harness.runner import test

TLS = "cafile {folder}/ca.pem\ncertfile {folder}/server.pem\nkeyfile {folder}/server.key"


def openssl(folder, command, *arguments):
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes") if command == "req" else ()
    result = run("openssl", command, *curve, *arguments, cwd=folder)
    equal(result.status, 0, result.err)


def certificate(folder, owner, name):
    """Writes a certificate and its key, OWNER.pem and OWNER.key, for a name, from the authority in the folder."""
    openssl(folder, "req", "-keyout", f"{owner}.key", "-out", f"{owner}.csr", "-subj", f"/CN={owner}")
    (folder / "names").write_text(f"subjectAltName={name}\n")
    openssl(folder, "x509", "-req", "-in", f"{owner}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", f"{owner}.pem")


def tls_broker(name, settings="", rights=""):
    broker = Broker(TLS + settings, start=False)
    (broker.folder / "rights").write_text(rights)
    openssl(broker.folder, "req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test", "-days", "2")
    certificate(broker.folder, "server", name)
    broker.start()
    return broker


def section(url, **more):
    return json.dumps({"broker": url, "host": "web1", **more})


@test("with TLS, the authority and the name of a broker are checked, and an error says what to do")
def tls():
    with Daemon("accept: any\n") as daemon, tls_broker("IP:127.0.0.1") as broker, tls_broker("DNS:mq.example") as other:
        def checked(url, authority, **credentials):
            with Bridge(daemon, section(url), {**credentials, **({"ca": authority} if authority else {})}, start=False) as bridge:
                return bridge.run("--check")
        right, wrong = ((where.folder / "ca.pem").read_text() for where in (broker, other))
        url = broker.url.replace("mqtt:", "mqtts:")
        good = checked(url, right)
        equal((good.status, good.err), (0, ""))
        contains(good.out, f"{url}: connected with MQTT 5\n", "grants the subscription to statusd/1/web1/+", "cannot be known without publishing")
        for authority in (wrong, None):
            bad = checked(url, authority)
            equal(bad.status, 1)
            contains(bad.out, "is not trusted", "put the certificate of its authority into the credential mqtt.ca")
        bad = checked(other.url.replace("mqtt:", "mqtts:"), wrong)
        equal(bad.status, 1)
        contains(bad.out, "is for another name")
        contains(checked(broker.url, None).out, "if this is its port for TLS, write mqtts://")
        broken = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
        bad = checked(url, broken)
        equal(bad.status, 78)
        contains(bad.out, "cannot use the credential mqtt.ca")
        bad = checked(url, right, certificate=(broker.folder / "server.pem").read_text(), key=(other.folder / "server.key").read_text())
        equal(bad.status, 78)
        contains(bad.out, "mqtt.certificate and mqtt.key, which must be a certificate and its key")
        with Broker() as plain:
            contains(checked(plain.url.replace("mqtt:", "mqtts:"), right).out, "without TLS, write mqtt://")


@test("a host that proves with a certificate who it is can publish; without one, it is told what the broker requires")
def client_certificate():
    settings = "\nrequire_certificate true\nuse_identity_as_username true\nacl_file {folder}/rights"
    with Daemon("accept: any\n") as daemon, tls_broker("IP:127.0.0.1", settings, "pattern readwrite statusd/1/%u/#\n") as broker:
        certificate(broker.folder, "web1", "DNS:web1")
        url, read = broker.url.replace("mqtt:", "mqtts:"), lambda name: (broker.folder / name).read_text()
        with Bridge(daemon, section(url), {"ca": read("ca.pem")}, start=False) as bridge:
            contains(bridge.run("--check").out, "client certificate", "mqtt.certificate and mqtt.key")
        with Bridge(daemon, section(url), {"ca": read("ca.pem"), "certificate": read("web1.pem"), "key": read("web1.key")}) as bridge:
            bridge.status("connected", "publishing 0 servers")


@test("a wrong password, and rights that are missing, are told by a sentence that names the user")
def unauthorized():
    with Daemon("accept: any\n") as daemon, Broker("allow_anonymous false\npassword_file {folder}/users\nacl_file {folder}/rights", start=False) as broker:
        (broker.folder / "users").touch()
        equal(run("mosquitto_passwd", "-b", broker.folder / "users", "web1", "secret").status, 0)
        (broker.folder / "rights").write_text("pattern read statusd/1/%u/#\n")
        broker.start()
        with Bridge(daemon, section(broker.url, user="web1"), {"password": "wrong\n"}, start=False) as bridge:
            result = bridge.run("--check")
            equal(result.status, 1)
            contains(result.out, "user “web1”", "the credential mqtt.password")
            assert "wrong\n" not in result.out, result.out
        with Bridge(daemon, section(broker.url)) as bridge:
            bridge.logs("refuses a connection without a user")
            bridge.status("not connected", "refuses")
        with Bridge(daemon, section(broker.url, user="web1"), {"password": "secret\n"}) as bridge:
            bridge.logs("connected to", "the broker does not take statusd/1/web1/$state: Not authorized", "it must permit the user “web1” to write there")
        with Bridge(daemon, section(broker.url, user="web1", follow=["web2"]), {"password": "secret\n"}, start=False) as bridge:
            contains(bridge.run("--check").out, "grants the subscription to statusd/1/web2/+", "shows no host that is followed")
            bridge.start()
            bridge.logs("the broker shows no host that is followed")


@test("a broker that is not there, a missing section and invalid credentials are told by a sentence")
def mistakes():
    with Daemon("accept: any\n") as daemon:
        with Bridge(daemon, section("mqtt://127.0.0.1:1"), start=False) as bridge:
            result = bridge.run("--check")
            equal((result.status, result.err), (1, ""))
            contains(result.out, "cannot connect to 127.0.0.1:1: Connection refused")
        with Bridge(daemon, section("mqtts://127.0.0.1:1"), start=False) as bridge:
            contains(bridge.run("--check").out, "is there a broker, and is this its port?")
        with Bridge(daemon, section("mqtt://no-such-name.invalid"), start=False) as bridge:
            contains(bridge.run("--check").out, "cannot find no-such-name.invalid: ")
        with Bridge(daemon, "", start=False) as bridge:
            contains(one_sentence(bridge.run(), 78), "has no section “mqtt”")
        with Bridge(daemon, section("mqtt://127.0.0.1:1"), {"password": "x"}, start=False) as bridge:
            contains(one_sentence(bridge.run("--check"), 78), "the credential mqtt.password needs “user”")
        with Bridge(daemon, section("mqtt://127.0.0.1:1"), {"ca": "x"}, start=False) as bridge:
            contains(one_sentence(bridge.run("--check"), 78), "the credential mqtt.ca must have certificates in PEM format")
        with Bridge(daemon, section("mqtt://127.0.0.1:1"), {"key": "x"}, start=False) as bridge:
            contains(one_sentence(bridge.run("--check"), 78), "mqtt.key also needs mqtt.certificate")


@test("--remove empties everything that the broker keeps of a host, unless it is ready")
def removal():
    with Daemon("accept: any\n") as daemon, Broker() as broker, Bridge(daemon, section(broker.url), start=False) as bridge:
        state = {"state": "ready", "epoch": 1, "machine": "0" * 32}
        broker.publish("statusd/1/old/$state", state)
        broker.publish("statusd/1/old/db", {"epoch": 1})
        broker.publish("statusd/1/new/db", {"epoch": 1})
        contains(one_sentence(bridge.run("--remove", "old"), 1), "old is ready")
        broker.publish("statusd/1/old/$state", {**state, "state": "lost"})
        result = bridge.run("--remove", "old")
        equal((result.status, result.out, result.err), (0, "removed 2 messages of old\n", ""))
        contains(one_sentence(bridge.run("--remove", "old"), 1), "the broker shows nothing of old")
        left = subprocess.run(["mosquitto_sub", "-p", str(broker.port), "-t", "statusd/#", "-F", "%t", "-W", "1"], capture_output=True, text=True, check=False)
        equal(left.stdout, "statusd/1/new/db\n")
