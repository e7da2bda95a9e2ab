# SPDX-License-Identifier: Apache-2.0
"""Varlink clients by other authors: the PyPI package `varlink`. (systemd's varlinkctl: see inside/test_varlinkctl.py.)"""

import json
import os
import pathlib

from harness.daemon import Daemon, Follower, environment, run
from harness.expect import Skip, contains, equal
from harness.runner import test

DESCRIPTION = pathlib.Path(__file__).resolve().parents[3] / "Sources/StatusInterface/org.statusd.monitor.varlink"


def client(*arguments):
    """Runs the foreign command line client. (It ends with 0 on an error reply too.)"""
    return run(python(), "-m", "varlink.cli", *arguments)


def python():
    """The interpreter of the virtual environment that packaging/test makes."""
    path = os.path.join(os.environ.get("STATUSD_VENV", ".build/venv"), "bin", "python")
    if not os.path.exists(path):
        raise Skip(f"there is no {path}; packaging/test makes it")
    return os.path.abspath(path)


@test("python varlink: info names the product and both interfaces")
def info():
    with Daemon() as daemon:
        contains(client("info", f"unix:{daemon.socket}").out, "statusd", "org.varlink.service", "org.statusd.monitor")


@test("python varlink: help shows exactly the interface description of the project")
def interface_description():
    with Daemon() as daemon:
        shown = client("help", f"unix:{daemon.socket}/org.statusd.monitor").out
        equal(shown.strip(), DESCRIPTION.read_text(encoding="utf-8").strip())
        with daemon.connect() as connection:
            reply = connection.call("org.varlink.service.GetInterfaceDescription", {"interface": "org.statusd.monitor"})
        equal(reply["description"], DESCRIPTION.read_text(encoding="utf-8"), "the description on the wire")


@test("python varlink: calls post, select and describe")
def calls():
    with Daemon() as daemon:
        def call(method, **parameters):
            result = client("call", f"unix:{daemon.socket}/org.statusd.monitor.{method}", json.dumps(parameters))
            equal(result.status, 0, result.err)
            return json.loads(result.out)

        assert call("Post", server="db", text="Signed In")["revision"] > 0
        equal(call("Select", server="db")["server"]["name"], "db")
        equal(call("Describe")["server"]["status"]["text"], "Signed In")
        equal([server["name"] for server in call("List")["servers"]], ["db"])


@test("python varlink: an error reply arrives with its name and parameters")
def error_reply():
    with Daemon() as daemon:
        result = client("call", f"unix:{daemon.socket}/org.statusd.monitor.Describe", '{"server": "nosuch"}')
        contains(result.out + result.err, "org.statusd.monitor.NoSuchServer", "nosuch")


@test("python varlink: a stream brings each change as it happens")
def stream():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        command = (python(), "-u", "-m", "varlink.cli", "call", "-m",
                   f"unix:{daemon.socket}/org.statusd.monitor.Watch", '{"server": "db"}')
        with Follower(*command, env=environment()) as lines:
            lines.until("Signed In")
            daemon.done("post", "db", "Signed Out")
            lines.until("Signed Out")


@test("the errors of the Varlink service itself carry their parameters")
def standard_errors():
    with Daemon() as daemon, daemon.connect() as connection:
        def error(method, parameters=None, **flags):
            connection.send(method, parameters, **flags)
            reply = connection.receive()
            return reply["error"], reply.get("parameters") or {}

        service = "org.varlink.service"
        name, parameters = error("Nothing")
        equal((name, parameters["method"].rpartition(".")[2]), (f"{service}.MethodNotFound", "Nothing"))
        equal(error("org.example.none.Do"), (f"{service}.InterfaceNotFound", {"interface": "org.example.none"}))
        equal(error("Describe", {"sever": "db"}), (f"{service}.InvalidParameter", {"parameter": "sever"}))
        equal(error("Describe", {"server": 5}), (f"{service}.InvalidParameter", {"parameter": "server"}))
        equal(error("Watch", {})[0], f"{service}.ExpectedMore")
        equal(error("Select", {"server": "nosuch"}), ("org.statusd.monitor.NoSuchServer", {"server": "nosuch"}))


@test("a oneway call is not answered and takes effect; pipelined calls are answered in order")
def oneway_and_pipelined():
    with Daemon() as daemon, daemon.connect() as connection:
        connection.send("Post", {"server": "db", "text": "one way"}, oneway=True)
        for number in range(200):
            connection.send("Post", {"server": "db", "text": f"status {number}"})
        connection.send("Describe", {"server": "db"})
        revisions = [connection.receive()["parameters"]["revision"] for _ in range(200)]
        equal(revisions, sorted(set(revisions)), "revisions")
        equal(connection.receive()["parameters"]["server"]["status"]["text"], "status 199")


@test("parameters absent, null and {} are the same")
def no_parameters():
    with Daemon() as daemon, daemon.connect() as connection:
        for extra in ({}, {"parameters": None}, {"parameters": {}}):
            message = {"method": "org.statusd.monitor.List", **extra}
            connection.socket.sendall(json.dumps(message).encode() + b"\0")
            equal(connection.receive(), {"parameters": {"servers": []}})
