# SPDX-License-Identifier: Apache-2.0
"""A played host's servers: JSON as the real statusctl writes it, changed at random by a seed."""

import datetime
import json

LEVELS = ("ok", "ok", "ok", "warning", "critical", "unknown")
TEXTS = ("HTTP 200 in 3 ms", "connection refused", "23% of 98 GB used, 75 GB free", "Grüße aus Köln ✓", "a “quoted” \\ text",
         "5 of 7 active", "\"json\": {}", "x" * 300)
NAMES = ("db", "web", "disk:var", "app:db@main:1", "Mail-1", "load.avg", "q_7")


def stamp(milliseconds):
    """A time as in org.statusd.monitor(7)."""
    when = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def name(number):
    """The name of a host's server: first some with unusual characters."""
    return NAMES[number] if number < len(NAMES) else f"s{number}"


def new(server, names, now, chance):
    """A server of a host with these servers, without its revision."""
    made = {"name": server, "source": chance.choice(("push", "tcp", "exec")), "phase": "loaded", "stale": False,
            "refreshable": False, "refreshing": False, "selected": False}
    if chance.random() < 0.3:
        made["description"] = f"what {server} does"
    if chance.random() < 0.1:
        made["group"] = chance.choice(names)
    if chance.random() < 0.1:
        made["parent"] = chance.choice(names)
    return changed(made, now, chance)


def changed(server, now, chance):
    """The server after a change."""
    made, time = dict(server), stamp(now)
    before = made.get("status") or {}
    level, text = chance.choice(LEVELS), f"{chance.choice(TEXTS)} {chance.randrange(1000)}"
    made.pop("message", None)
    made.pop("values", None)
    made["phase"], made["stale"] = "loaded", chance.random() < 0.05
    kept = level == before.get("level")
    made["status"] = {"text": text, "level": level, "changedAt": time,
                      "levelChangedAt": before["levelChangedAt"] if kept else time, "updatedAt": time}
    if chance.random() < 0.1:
        made["values"] = [{"name": "load", "value": chance.randrange(100) / 4, "unit": "", "warning": 2.0}]
    if chance.random() < 0.05:
        made["phase"], made["message"] = "failed", "the plugin did not end"
    elif chance.random() < 0.03:
        made["phase"], made["message"] = "empty", "nothing was posted"
        del made["status"]
    return made


def payload(server, epoch):
    """What is published of a server."""
    return json.dumps({"epoch": epoch, **server}, ensure_ascii=False, separators=(",", ":")).encode()
