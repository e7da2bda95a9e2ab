# SPDX-License-Identifier: Apache-2.0
"""packaging/schema/statusctl.schema.json: each command's output with --json is valid; the types are the interface's."""

import json
import pathlib
import re

from harness.daemon import STATUSCTL, Daemon, environment, run
from harness.expect import contains, equal
from harness.runner import test
from harness.schema import validator

PROJECT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = json.loads((PROJECT / "packaging/schema/statusctl.schema.json").read_text(encoding="utf-8"))
INTERFACE = (PROJECT / "Sources/StatusInterface/org.statusd.monitor.varlink").read_text(encoding="utf-8")


def valid(name, output):
    """Checks each line of an output; returns the values."""
    values = [json.loads(line) for line in output.splitlines()]
    check = validator(SCHEMA, name)
    for value in values:
        errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in check.iter_errors(value)]
        assert not errors, f"{name}: {errors[:3]} in {value}"
    assert values, f"{name} wrote nothing"
    return values


def configuration(folder):
    """Servers of each phase."""
    return ("mqtt: { broker: mqtt://127.0.0.1, publish: false, follow: [web1] }\nalerts: { 'true': { run: [/bin/true], batch: 1min } }\nservers:\n  db: { push: true, description: Primary database }\n  disk: { exec: [/bin/echo, well] }\n"
            "  broken: { exec: [/nonexistent] }\n  old: { push: true, ttl: 100ms }\n")


@test("the output of each command with --json is valid by the schema")
def outputs():
    with Daemon(configuration) as daemon, daemon.follow("watch", "--all", "--updates", "--json") as watch:
        valid("post", daemon.done("post", "db", "Signed In", "--json"))
        daemon.done("post", "db", "Signed In")
        daemon.done("post", "old", "soon stale")
        with daemon.connect() as connection:
            connection.call("ReportHost", {"host": "web1", "state": "ready", "epoch": 1, "clockDifference": 5, "version": "0.1.0"})
        valid("wait", daemon.done("wait", "disk", "--json"))
        valid("select", daemon.done("select", "db", "--json"))
        valid("select", daemon.done("select", "disk", "--json"))
        valid("select", daemon.done("select", "--none", "--json"))
        daemon.done("select", "db")
        valid("list", daemon.done("list", "--json"))
        valid("hosts", daemon.done("hosts", "--json"))
        valid("status", daemon.ctl("status", "db", "disk", "broken", "old", "--json").out)
        valid("statusAll", daemon.ctl("status", "--all", "--json").out)
        valid("silence", daemon.done("silence", "broken", "--until-ok", "--json"))
        valid("silence", daemon.done("silence", "--all", "--reason", "maintenance", "--json"))
        valid("silence", daemon.done("silence", "--list", "--json"))
        valid("unsilence", daemon.done("unsilence", "--all", "--json"))
        valid("alerts", daemon.done("alerts", "--json"))
        valid("alerts", daemon.done("alerts", "--test", "--json"))
        equal(len(valid("refresh", daemon.done("refresh", "disk", "--json"))), 2)
        valid("history", daemon.done("history", "--all", "--json"))
        valid("summary", daemon.done("history", "--all", "--summary", "--json"))
        daemon.file.write_text(configuration(None) + "  new: { push: true }\n  bad: { exec: no }\nextra: 1\n")
        valid("reload", daemon.ctl("reload", "--dry-run", "--json").out)
        reloaded = valid("reload", daemon.ctl("reload", "--json").out)[0]
        assert reloaded["failed"] and reloaded["warnings"] and reloaded["added"], reloaded
        assert valid("verify", daemon.ctl("verify", daemon.file, "--json").out)[0]["problems"]
        # Not the machine's own configuration.
        made = run(STATUSCTL, "init", "--json", env=environment(CONFIGURATION_DIRECTORY=f"{daemon.folder}/made"))
        equal(valid("init", made.out)[0]["file"], f"{daemon.folder}/made/conf.d/00-init.yaml")
        daemon.file.write_text(configuration(None) + "accept: any\n")
        daemon.ctl("reload")
        daemon.done("post", "guest", "Hello")
        valid("forget", daemon.done("forget", "guest", "--json"))
        watch.until('"removed"')
        daemon.stop()
        watch.until('"disconnected"')
        daemon.start()
        watch.until('"reconnected"')
        daemon.done("post", "db", "Signed Out")
        watch.until("Signed Out")
        kinds = {value["kind"] for value in valid("watch", "\n".join(watch.seen))}
        assert kinds >= {"snapshot", "changed", "updated", "selected", "refreshing", "refreshed", "silenced", "unsilenced", "removed", "disconnected", "reconnected"}, kinds


@test("each failure is valid by the schema, including those of statusctl itself")
def failures():
    with Daemon(configuration) as daemon:
        env = environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", CONFIGURATION_DIRECTORY=str(daemon.file.parent))
        for arguments in (("status", "nope"), ("status",), ("post", "nope", "x"), ("post", "disk", "x"), ("refresh", "db"), ("forget", "db"),
                          ("wait", "db", "--level", "critical", "--timeout", "10ms"), ("list", "--nonsense"), ("init",), ("list", "--address", "unix:/nonexistent")):
            contains(valid("Error", daemon.ctl(*arguments, "--json", env=env).out)[-1]["error"], "org.statusd.monitor.")


def fields(text):
    """The members of a structure in the interface description: name and whether they may be null."""
    return {name: kind.startswith("?") for name, kind in re.findall(r"(\w+): *(\??[\w\[\]]+)", text)}


@test("the schema's types have the members of the interface's types, and the same ones may be missing")
def types():
    definitions = SCHEMA["$defs"]
    found = re.findall(r"^type (\w+) \(([^)]*)\)", INTERFACE, flags=re.MULTILINE)
    assert len(found) > 10, found
    for name, body in found:
        if name in ("EventKind", "ChangeKind"):
            kind = definitions[name.removesuffix("Kind")]["properties"]["kind"]["enum"]
            equal(kind, re.findall(r"\w+", body), name)
        elif ":" not in body:
            equal(definitions[name]["enum"], re.findall(r"\w+", body), name)
        else:
            members = fields(body)
            equal(set(definitions[name]["properties"]), set(members), name)
            equal({member for member in members if not members[member]}, set(definitions[name]["required"]), name)


@test("the schema has a definition for each command that writes JSON")
def commands():
    with Daemon(start=False) as daemon:
        part = daemon.ctl("--help").out.split("Commands:\n")[1].split("\n\n")[0]
        names = set(re.findall(r"^ {2}(\w+)", part, flags=re.MULTILINE)) - {"top", "bridge", "metrics"}
        equal(names | {"summary", "statusAll"}, {reference["$ref"].rsplit("/", 1)[1] for reference in SCHEMA["anyOf"]} - {"Error"})
