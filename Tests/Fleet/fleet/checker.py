# SPDX-License-Identifier: Apache-2.0
"""Compares what a hub shows, once all is quiet, with what its hosts said last."""

IDENTICAL = ("description", "phase")
OF_STATUS = ("text", "level", "changedAt", "levelChangedAt")
LEVELS = {"ready": "ok", "lost": "critical"}
CLOCK = 5_000
"""The error, in milliseconds, of a clock difference that is measured under load."""


def differences(hosts, shown, table, own=()):
    """Sentences about what is wrong.

    `hosts`: for each name the `state` (ready, stopped, lost; or forgotten: the broker has lost what it said, so the hub
    may know it as lost, with some of its servers, or not at all) and the `servers` that it said last, as statusctl --json shows them there.
    `shown`: the hub's List. `table`: its Hosts. `own`: the servers that the hub has itself, and its name.
    """
    itself, of, wrong = {}, {}, []
    for server in shown:
        name, host = server["name"], server["name"].rpartition("@")[2]
        group = of.setdefault(host, {}) if "@" in name else itself
        if name in group:
            wrong.append(f"{name} is listed twice")
        group[name] = server
    rows = {row["name"]: row for row in table}
    for name, host in hosts.items():
        mine, one, row = of.pop(name, {}), itself.pop(name, None), rows.pop(name, None)
        if host["state"] == "forgotten" and row is None and one is None and not mine:
            continue
        wrong += of_host(name, host, one, row, mine)
    left = [*itself, *(name for group in of.values() for name in group)]
    wrong += [f"{name} is shown, but nobody said it" for name in left if name not in own]
    wrong += [f"host {name} is shown, but there is none" for name in rows if name not in own]
    return wrong


def of_host(name, host, itself, row, mine):
    """What is wrong about a host and its servers."""
    state, wrong = host["state"], []
    if row is None:
        return [f"host {name} is not in Hosts"]
    if itself is None:
        wrong.append(f"host {name} is not shown as a server")
    elif itself["source"] != "mqtt":
        wrong.append(f"{name}: source {itself['source']}")
    # Of a host that the broker has forgotten, the hub knows what it heard last.
    if state == "forgotten":
        state = row["state"]
        if state == "ready":
            wrong.append(f"host {name} is away, and Hosts says ready")
    elif row["state"] != state:
        wrong.append(f"host {name} is {state}, and Hosts says {row['state']}")
    if itself and not shows(itself, state):
        wrong.append(f"{name} is {state}, and shown as {itself.get('status')} {itself['phase']}")
    if row["servers"] != len(mine):
        wrong.append(f"host {name}: Hosts counts {row['servers']} servers, and the list has {len(mine)}")
    if row.get("version") and row["version"] != host.get("version", row["version"]):
        wrong.append(f"host {name}: version {row['version']}")
    ahead = row.get("clockDifference")
    if ahead is not None and state == "ready" and abs(ahead - host.get("clock", 0)) > CLOCK:
        wrong.append(f"host {name} is {host.get('clock', 0)} ms ahead, and Hosts says {ahead}")
    for server in host["servers"]:
        there = mine.pop(f"{server['name']}@{name}", None)
        if there is None and host["state"] != "forgotten":
            wrong.append(f"{server['name']}@{name} is missing")
        elif there is None:
            continue
        else:
            wrong += of_server(name, state, server, there)
    return wrong + [f"{server} is shown, but its host does not have it" for server in mine]


def shows(itself, state):
    """Whether the server that stands for a host shows its state."""
    if state == "stopped":
        return itself["phase"] == "failed"
    return itself["phase"] == "loaded" and (itself.get("status") or {}).get("level") == LEVELS[state]


def of_server(host, state, said, shown):
    """What is wrong about a server."""
    name, wrong = shown["name"], []

    def compare(what, value, wanted):
        if value != wanted:
            wrong.append(f"{name}: {what} is {value!r}, and on its host {wanted!r}")

    for key in IDENTICAL:
        compare(key, without_nulls(shown.get(key)), without_nulls(said.get(key)))
    # New numbers are published only with the next change.
    compare("values", measured(shown), measured(said))
    # A user's ID means nothing on another host.
    compare("silence", *(without_nulls({**(server.get("silence") or {}), "user": None}) for server in (shown, said)))
    if state == "ready":
        compare("message", shown.get("message"), said.get("message"))
    ours, theirs = shown.get("status") or {}, said.get("status") or {}
    for key in OF_STATUS:
        compare(key, ours.get(key), theirs.get(key))
    compare("stale", shown["stale"], state != "ready" or said["stale"])
    compare("source", shown["source"], "mqtt")
    compare("refreshable", shown["refreshable"], False)
    for key in ("group", "parent"):
        compare(key, shown.get(key), f"{said[key]}@{host}" if said.get(key) else host)
    return wrong


def measured(server):
    """The names and units of what a check measured."""
    return [(value["name"], value["unit"]) for value in server.get("values") or []]


def without_nulls(value):
    """Leaves out members that are null, which mean the same as missing ones."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value
