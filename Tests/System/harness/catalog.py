# SPDX-License-Identifier: Apache-2.0
"""The journal message catalog (https://systemd.io/CATALOG) and the message ids that it explains."""

import pathlib
import re

PROJECT = pathlib.Path(__file__).resolve().parents[3]
FILE = PROJECT / "packaging" / "systemd" / "catalog" / "statusd.catalog"
MESSAGES = PROJECT / "Sources" / "StatusDaemon" / "Messages.swift"
ID = "[0-9a-f]{32}"


def entries():
    """The entries of the catalog: pairs of the id and the text, which begins with the header lines."""
    lines = [line for line in FILE.read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    parts = re.split(f"^-- ({ID})$", "\n".join(lines), flags=re.MULTILINE)
    assert not parts[0].strip(), f"{FILE} begins with {parts[0]!r}"
    return list(zip(parts[1::2], (text.strip("\n") for text in parts[2::2])))


def message_ids():
    """The ids in the code, by the name of their case."""
    body = re.search(r"^enum MessageID: String \{\n(.*?)^\}", MESSAGES.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[1]
    cases = [line.strip() for line in body.splitlines() if line.strip().startswith("case ")]
    found = [re.fullmatch(f'case (\\w+) = "({ID})"', case) for case in cases]
    assert found and all(found), f"cases that this test cannot read: {cases}"
    return {match[1]: match[2] for match in found}


def substituted(text, fields):
    """The text with the fields of a message in place of their names; all of them must exist."""
    missing = set(re.findall("@([A-Z0-9_]+)@", text)) - set(fields)
    assert not missing, f"{missing} are not fields of {fields['MESSAGE']!r}"
    return re.sub("@([A-Z0-9_]+)@", lambda match: fields[match[1]], text)
