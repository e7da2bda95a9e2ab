# SPDX-License-Identifier: Apache-2.0
"""journal: the hardened service follows the journal of a real systemd, if it may read it."""

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
