# SPDX-License-Identifier: Apache-2.0
"""journal: the hardened service follows the journal of a real systemd, if it may read it."""

import pathlib

from harness.daemon import run
from harness.expect import contains, equal, eventually
from harness.runner import test

from .unit import describe, done, service, statusctl

CONFIGURATION = """\
defaults: { interval: 1h, timeout: 30s }
servers:
  errors: { journal: journal-test }
  many: { journal: { unit: journal-test, match: { PRIORITY: debug }, warning: 2, critical: 1000 } }
  others: { journal: { match: { SYSLOG_IDENTIFIER: [no-such-program, journal-other] } } }
  brief: { journal: { unit: journal-test, within: 6s }, interval: 1s }
"""
GROUP = "[Service]\nSupplementaryGroups=systemd-journal\n"


def write(*messages, identifier="journal-test"):
    """Logs messages, with their priorities as in sd-daemon(3), from a unit."""
    lines = "\\n".join(messages)
    done("systemd-run", "--quiet", "--wait", "--unit=journal-test", f"--property=SyslogIdentifier={identifier}",
         "/usr/bin/printf", f"{lines}\\n")


def becomes(server, level, part, seconds=20):
    """Waits until the server has this level, and a text with this part."""
    def check():
        status = describe(server).get("status") or {}
        return status.get("level") == level and part in status["text"]

    try:
        eventually(check, f"{server} with {level}: {part}", seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {describe(server)}") from None


@test("journal: without the group, a server is failed with the remedy, and never without messages")
def refused():
    with service(configuration=CONFIGURATION):
        eventually(lambda: describe("errors")["phase"] == "failed", "the failure")
        contains(describe("errors")["message"], "cannot read the journal: Permission denied for the user statusd",
                 "run “usermod -aG systemd-journal statusd”")
        contains(run("/usr/bin/statusctl", "verify").err, "cannot be checked by the user statusd: run “usermod -aG systemd-journal statusd”, and restart the daemon")
        equal(describe("errors").get("status"), None)


@test("journal: with the group, messages of a unit are counted as soon as they are written, and no longer once they are old")
def followed():
    with service(configuration=CONFIGURATION, drop_in=GROUP):
        for server in ("errors", "many", "others", "brief"):
            statusctl("wait", server, "--timeout", "20s")
        becomes("errors", "ok", "no message in 10 min")
        write("<6>hello", "<3>disk \\033[31mfull")
        # The interval is an hour: the journal itself tells of the message.
        becomes("errors", "critical", "1 message in 10 min: “disk \\u{1b}[31mfull”")
        becomes("brief", "critical", "1 message in 6 s")
        becomes("many", "warning", " messages in 10 min: “")
        becomes("others", "ok", "no message in 10 min")
        becomes("brief", "ok", "no message in 6 s")
        write("<2>worse", "<4>a warning", identifier="journal-other")
        becomes("errors", "critical", "2 messages in 10 min: “worse”")
        becomes("others", "critical", "2 messages in 10 min: “a warning”")
        # The files of the journal are replaced; what systemd writes about the unit counts, too.
        done("journalctl", "--rotate")
        run("systemd-run", "--quiet", "--wait", "--unit=journal-test", "/bin/false")
        becomes("many", "warning", "“journal-test.service: Failed with result 'exit-code'.”")
        becomes("errors", "critical", "2 messages in 10 min: “worse”")


@test("journal: no file of it is left out: many, one that was not closed, and a damaged one, with which the server is failed")
def all_files():
    with service(configuration="servers: { errors: { journal: { unit: journal-test, within: 1h }, interval: 1s } }\n", drop_in=GROUP):
        run("systemctl", "reset-failed", "journal-test")
        write("<3>first of many")
        becomes("errors", "critical", "“first of many”")
        for _ in range(12):
            done("journalctl", "--rotate")
        checked_again("errors")
        becomes("errors", "critical", "“first of many”")
        done("systemctl", "kill", "--signal=KILL", "systemd-journald")
        eventually(lambda: any(journal_files("*.journal~")), "a file that was not closed")
        checked_again("errors")
        becomes("errors", "critical", "“first of many”")
        damaged = next(file for file in journal_files("*@*.journal*") if b"MESSAGE=first of many" in file.read_bytes())
        content = damaged.read_bytes()
        at = content.index(b"_SYSTEMD_UNIT=journal-test.service")
        try:
            # At once, because a check would take a file that is being written for one that was cut.
            replacement = damaged.with_suffix(".replacement")
            replacement.write_bytes(content[:at - 64] + bytes(64) + content[at:])
            replacement.rename(damaged)
            eventually(lambda: describe("errors")["phase"] == "failed", "the failure")
            equal(describe("errors")["message"], "cannot read the journal: Bad message; run “journalctl --verify”")
        finally:
            damaged.unlink()
        eventually(lambda: describe("errors")["phase"] == "loaded", "a journal without the damaged file")


def journal_files(pattern):
    return [file for folder in ("/var/log/journal", "/run/log/journal") for file in pathlib.Path(folder).glob(f"*/{pattern}")]


def checked_again(server):
    """Waits for a check that began later."""
    before = describe(server)["check"]["startedAt"]
    eventually(lambda: describe(server)["check"]["startedAt"] > before, "another check")


@test("journal: while journald does not run, a server is failed, and keeps its last status")
def stopped():
    with service(configuration="servers: { brief: { journal: { unit: journal-test, within: 1s }, interval: 1s } }\n", drop_in=GROUP):
        becomes("brief", "ok", "no message in 1 s")
        journald = [f"systemd-journald{suffix}" for suffix in (".socket", "-dev-log.socket", "-audit.socket", ".service")]
        try:
            run("systemctl", "stop", *journald)
            eventually(lambda: describe("brief")["phase"] == "failed", "the failure")
            equal(describe("brief")["message"], "systemd-journald does not run, so no message is written to the journal")
            becomes("brief", "ok", "no message in 1 s")
        finally:
            done("systemctl", "start", *journald[:2], journald[3])
        eventually(lambda: describe("brief")["phase"] == "loaded", "a journal that is written")
