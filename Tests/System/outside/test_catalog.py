# SPDX-License-Identifier: Apache-2.0
"""The journal message catalog: complete, well-formed, and true as far as a test can tell. (In journalctl: see inside/test_catalog.py.)"""

import collections
import pathlib
import re
import shutil
import tempfile

from harness import catalog
from harness.daemon import STATUSCTL, run
from harness.expect import Skip, contains, equal
from harness.runner import test

MANUAL = catalog.PROJECT / "packaging" / "man"
SERVER = {"SERVER", "STATUSD_TEXT", "STATUSD_PHASE", "STATUSD_SOURCE", "STATUSD_SELECTED", "STATUSD_REVISION"}
PLACE = {"STATUSD_CONFIG_FILE"}
FIELDS = {"changed": SERVER, "added": SERVER, "removed": SERVER, "refreshRequested": {"SERVER", "STATUSD_CALLER_UID", "STATUSD_CALLER_PID"},
          "reloadFailed": PLACE, "configurationProblem": PLACE, "cannotFollow": {"SERVER"}}
"""The fields that all messages of a kind have. The kinds that are missing have none that would help a reader."""


def commands(text):
    """The commands that an entry advises to run: its lines that are indented by four columns."""
    return [line.strip().removeprefix("sudo ") for line in text.splitlines() if line.startswith("    ") and line[4:5] != " "]


def repeated(ids):
    """The ids that occur more than once."""
    return [number for number, count in collections.Counter(ids).items() if count > 1]


@test("every message id of the code has exactly one catalog entry and one row in statusd(8), and neither has others")
def complete():
    ids = list(catalog.message_ids().values())
    rows = re.findall(f"^\\| `({catalog.ID})` \\|", (MANUAL / "statusd.8.md").read_text(encoding="utf-8"), re.MULTILINE)
    for place, found in (("Messages.swift", ids), ("the catalog", [entry[0] for entry in catalog.entries()]), ("statusd(8)", rows)):
        equal(repeated(found), [], f"ids that occur more than once in {place}")
        equal((set(ids) - set(found), set(found) - set(ids)), (set(), set()), f"ids that are missing in {place}, and unknown ones")


@test("every entry of the catalog has a subject, a manual page and a command, and fits in 80 columns with journalctl's mark")
def shape():
    for number, text in catalog.entries():
        header, _, body = text.partition("\n\n")
        keys = [line.partition(": ")[0] for line in header.splitlines()]
        equal([key for key in keys if key != "Documentation"], ["Subject", "Defined-By", "Support"], number)
        contains(header, "\nDefined-By: statusd\n", "\nDocumentation: man:")
        assert commands(body), f"{number} advises nothing"
        equal([line for line in text.splitlines() if len(line) > 76 or line != line.rstrip() or line.startswith("--")], [], number)


@test("the catalog uses only fields that every message of the kind has")
def fields():
    texts = dict(catalog.entries())
    for kind, number in catalog.message_ids().items():
        equal(set(re.findall("@([^@\\s]*)@", texts[number])) - FIELDS.get(kind, set()), set(), kind)


@test("the commands, the message ids and the sections of the manual that the catalog names exist")
def references():
    ids = set(catalog.message_ids().values())
    for number, text in catalog.entries():
        equal(set(re.findall(f"MESSAGE_ID=({catalog.ID})", text)) - ids, set(), number)
        for command in commands(text):
            program, *arguments = command.split()
            if program == "statusctl":
                help_text = run(STATUSCTL, arguments[0], "--help")
                equal(help_text.status, 0, command)
                options = {argument for argument in arguments if re.match("--?[a-z]", argument)}
                equal(options - set(re.findall(r"--?[a-z][\w-]*", help_text.out)), set(), command)
        flat = " ".join(text.split())
        equal(flat.count("section"), len(re.findall(r'section ("[^"]+"|\w+) of statusd', flat)), f"sections in {number}")
        for section, page, volume in re.findall(r'section ("[^"]+"|\w+) of ([a-z.]+)\((\d)\)', flat):
            headings = re.findall("^#+ (.*)$", (MANUAL / f"{page}.{volume}.md").read_text(encoding="utf-8"), re.MULTILINE)
            assert section.strip('"') in headings, f"{number} names a section {section}, which {page}({volume}) does not have"


@test("journalctl compiles the catalog without a warning, and shows each entry as it is in the file")
def compiled():
    if shutil.which("journalctl") is None:
        raise Skip("there is no journalctl")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("usr/lib/systemd/catalog", "var/lib/systemd/catalog"):
            pathlib.Path(folder, name).mkdir(parents=True)
        shutil.copy(catalog.FILE, f"{folder}/usr/lib/systemd/catalog")
        result = run("journalctl", f"--root={folder}", "--update-catalog")
        equal((result.status, result.out, result.err), (0, "", ""))
        listed = run("journalctl", f"--root={folder}", "--no-pager", "--list-catalog")
        equal((len(listed.out.splitlines()), listed.err), (len(catalog.entries()), ""))
        for number, text in catalog.entries():
            shown = run("journalctl", f"--root={folder}", "--no-pager", "--dump-catalog", number)
            equal((shown.out.strip("\n"), shown.err), (f"-- {number}\n{text}", ""))
