# SPDX-License-Identifier: Apache-2.0
"""The output of `journalctl -x` for messages of the service. (The catalog itself: see outside/test_catalog.py.)"""

import os
import pathlib

from harness import catalog
from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .unit import CONFIGURATION, done, install, journal, service, statusctl, systemctl

STATE = pathlib.Path("/var/lib/statusd/statusd.sqlite")
TAKES_ALERTS = pathlib.Path("/etc/statusd-takes-alerts")
IDS = catalog.message_ids()
MARK = "░░"


def explained(since):
    """The service's messages since a time with a message id: triples of the id, the fields and what journalctl says about it."""
    matches = (f"--since=@{since:.6f}", *(f"MESSAGE_ID={number}" for number in IDS.values()))
    entries = journal(*matches)
    lines = done("journalctl", "-x", "--no-pager", "-u", "statusd", *matches).splitlines()
    texts = []
    for line in lines:
        if line.startswith(MARK):
            texts[-1].append(line.removeprefix(MARK).removeprefix(" ").rstrip())
        else:
            texts.append([])
    equal(len(texts), len(entries), "messages")
    return [(entry["MESSAGE_ID"], entry, "\n".join(text)) for entry, text in zip(entries, texts)]


def has_logged(since, kind):
    """Waits for a message of a kind."""
    eventually(lambda: journal(f"--since=@{since:.6f}", f"MESSAGE_ID={IDS[kind]}"), kind, patience=40)


def cause_messages(since):
    """Makes the service write messages of nearly all kinds."""
    statusctl("post", "db", "Signed Out", "--level", "critical")
    has_logged(since, "alertFailed")
    TAKES_ALERTS.touch()
    has_logged(since, "alertDelivered")
    TAKES_ALERTS.unlink()
    statusctl("silence", "db")
    statusctl("unsilence", "db")
    statusctl("select", "db")
    statusctl("refresh", "port")
    statusctl("post", "guest@host", "a text with @SERVER@ in it")
    statusctl("forget", "guest@host")
    CONFIGURATION.write_text("servers: { db: { push: true }, app: { notify: { users: [nobody-knows] } } }\n")
    statusctl("reload")
    has_logged(since, "cannotFollow")
    CONFIGURATION.write_text("servers: { db: { pusch: true } }\n")
    assert run("/usr/bin/statusctl", "reload").status == 78
    statusctl("select", "--none")
    systemctl("stop", "statusd.socket", "statusd.service")
    CONFIGURATION.write_text("servers: { db: { push: true } }\n")
    # There is no room for the index of SQLite's log.
    done("mount", "-t", "tmpfs", "-o", "size=16k,mode=777", "tmpfs", STATE.parent)
    try:
        systemctl("start", "statusd.socket", "statusd.service")
        has_logged(since, "stateNotSaved")
        done("mount", "-o", "remount,size=4m", STATE.parent)
        has_logged(since, "stateSavedAgain")
        systemctl("stop", "statusd.socket", "statusd.service")
    finally:
        done("umount", STATE.parent)
    with open(STATE, "r+b") as file:
        file.write(b"no database at all")
    systemctl("start", "statusd.service")
    has_logged(since, "stateSetAside")
    CONFIGURATION.write_text("servers: [\n")
    assert run("systemctl", "reload", "statusd").status != 0
    assert run("systemctl", "restart", "statusd").status != 0
    # The last words of a process may reach the journal after its end.
    has_logged(since, "startFailed")


@test("journalctl -x explains each message of the service, with its own fields", limit=120)
def explanations():
    texts = dict(catalog.entries())
    with service(start=(), configuration=f"accept: any\nalerts: {{ receiver: {{ run: [/usr/bin/test, -e, {TAKES_ALERTS}], batch: 0s }} }}\n"
                                         "servers: { db: { push: true }, port: { tcp: '127.0.0.1:1', interval: 1h, alert: false } }\n"):
        since = float(done("date", "+%s.%N"))
        systemctl("start", "statusd.socket", "statusd.service")
        cause_messages(since)
        shown = explained(since)
        for number, fields, text in shown:
            equal(text, catalog.substituted(texts[number], fields), fields["MESSAGE"])
        # A full journal is left to other tests.
        equal({name for name, number in IDS.items() if number not in {entry[0] for entry in shown}}, {"messagesLost"})
        changes = [text for number, fields, text in shown if number == IDS["changed"] and fields["SERVER"] == "guest@host"]
        contains(changes[0], "Subject: The status of guest@host changed", "\n    statusctl history guest@host\n")
        contains([text for number, _, text in shown if number == IDS["reloadFailed"]][-1], f"It concerns {CONFIGURATION}.")


@test("install --uninstall makes journalctl -x forget the messages, and install brings them back", once=True)
def updated():
    def known():
        return [line for line in done("journalctl", "--no-pager", "--list-catalog").splitlines() if " statusd: " in line]

    equal(len(known()), len(IDS))
    try:
        install("--uninstall")
        equal(known(), [])
        assert not os.path.exists("/usr/lib/systemd/catalog/statusd.catalog")
    finally:
        install()
    equal(len(known()), len(IDS))
