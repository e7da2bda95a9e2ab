# SPDX-License-Identifier: Apache-2.0
"""statusctl reload: its changes, and those of a dry run."""

import json

from harness.daemon import Daemon
from harness.expect import contains, equal
from harness.runner import test

BEFORE = "servers: { db: { push: true }, web: { push: true }, old: { push: true } }\n"
AFTER = "servers: { db: { push: true }, web: { notify: true }, cache: { push: true } }\n"


@test("a dry run shows the changes of a reload without making them; the reload shows the same, and then none are left")
def dry_run():
    with Daemon(BEFORE) as daemon:
        daemon.done("post", "web", "up")
        equal(daemon.done("reload", "--dry-run"), "no server would be added, changed or removed\n")
        daemon.file.write_text(AFTER)
        plan = "added: cache\nchanged: web\nremoved: old\n"
        for _ in range(2):
            equal(daemon.done("reload", "--dry-run"), plan)
            equal([daemon.describe(name)["source"] for name in ("web", "old")], ["push", "push"])
        planned = json.loads(daemon.done("reload", "--dry-run", "--json"))
        assert "reload" not in daemon.log(), daemon.log()
        equal(daemon.done("reload"), plan)
        equal(planned, {"added": ["cache"], "changed": ["web"], "removed": ["old"], "failed": [], "warnings": []})
        equal(daemon.describe("web")["source"], "notify")
        equal(daemon.done("reload"), "")


@test("a reload that removes the selected server says that none is selected, unless it selects another one")
def deselection():
    with Daemon("servers: { db: { push: true }, web: { push: true } }\n") as daemon:
        daemon.done("select", "web")
        daemon.file.write_text("servers: { db: { push: true } }\n")
        told = "removed: web\nselected: none; web was selected\n"
        equal((daemon.done("reload", "--dry-run"), daemon.done("reload")), (told, told))
        daemon.done("select", "db")
        daemon.file.write_text("select: web\nservers: { web: { push: true } }\n")
        told = "added: web\nremoved: db\nselected: web\n"
        equal((daemon.done("reload", "--dry-run"), daemon.done("reload")), (told, told))


@test("a dry run reports errors and ends with 78, as a reload would, and does not affect the next reload")
def wrong():
    with Daemon(BEFORE) as daemon:
        daemon.file.write_text("servers: { db: { psh: true }, web: { push: true, colour: red }, old: { push: true } }\n")
        result = daemon.ctl("reload", "--dry-run")
        equal((result.status, result.out), (78, "changed: db\n"))
        contains(result.err, "server db: has no source", "unknown key “colour” is ignored")
        assert result.err.index("statusctl: error: ") < result.err.index("statusctl: warning: "), result.err
        assert "is in effect" not in result.err, result.err
        equal(daemon.ctl("reload", "--dry-run", "--quiet").status, 78)
        daemon.file.write_text("servers: [\n")
        result = daemon.ctl("reload", "--dry-run")
        equal((result.status, result.out), (78, ""))
        contains(result.err, "invalid YAML")
        daemon.file.write_text(BEFORE)
        equal(daemon.done("reload"), "")
        equal(daemon.describe("db")["phase"], "empty")


@test("a dry run of an invalid drop-in does not change the contents that still hold")
def drop_in():
    with Daemon("servers: {}\n", start=False) as daemon:
        folder = daemon.folder / "conf.d"
        folder.mkdir()
        drop_in = folder / "a.yaml"
        drop_in.write_text("servers: { a: { push: true } }\n")
        daemon.start(arguments=["--config", daemon.folder])
        drop_in.write_text("servers: { b: { push: true } }\n")
        equal(daemon.done("reload", "--dry-run"), "added: b\nremoved: a\n")
        drop_in.write_text("servers: [\n")
        equal(daemon.ctl("reload").status, 78)
        equal([server["name"] for server in json.loads(daemon.done("list", "--json"))["servers"]], ["a"])


@test("an error in the configuration is shown with the status, and for a server that is not found, until it is corrected")
def shown():
    with Daemon(BEFORE) as daemon:
        daemon.done("select", "db")
        equal(daemon.ctl("status").err, "")
        for wrong, notice in (
            ("servers: { db: { push: true }, web: { psh: true } }\n", "warning: 1 error in the configuration; run “statusctl"),
            ("servers: [\n", "warning: the configuration was not reloaded; run “statusctl"),
        ):
            daemon.file.write_text(wrong)
            equal(daemon.ctl("reload").status, 78)
            contains(daemon.ctl("status").err, notice)
            contains(daemon.ctl("status", "unknown").err, notice, "no server named")
        daemon.file.write_text(BEFORE)
        daemon.done("reload")
        equal(daemon.ctl("status").err, "")


@test("a directory of the configuration that is a file does not count as one without files, which would accept every post")
def directory_is_a_file():
    with Daemon(start=False) as daemon:
        path = daemon.folder / "file"
        path.write_text("")
        daemon.environment["CONFIGURATION_DIRECTORY"] = str(path)
        daemon.launch()
        equal(daemon.process.wait(10), 78)
        contains(daemon.log(), f"{path}: ", "Not a directory")
