# SPDX-License-Identifier: Apache-2.0
"""The manual pages: their output by man(1), and their commands, options, exit statuses and defaults."""

import functools
import pathlib
import re
import shutil
import tempfile

from harness.daemon import BINARIES, STATUSCTL, STATUSD, environment, run
from harness.expect import Skip, contains, equal
from harness.runner import test

PROJECT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = PROJECT / "packaging" / "man"
PAGES = ("org.statusd.monitor.7", "statusctl.1", "statusd-mqtt.8", "statusd-security.7", "statusd.8", "statusd.yaml.5")
OF_ALL = ("--json", "--address", "--host", "--help", "--version")
"""The options that the manual describes for all commands."""


@functools.cache
def folder():
    """The pages for man(1), in a folder that is removed at the end of the run."""
    for tool in ("pandoc", "mandoc", "man"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}; packaging/setup --test installs it")
    made = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
    result = run(PROJECT / "packaging" / "manuals", made.name, env=environment(SOURCE_DATE_EPOCH=1700000000))
    equal((result.status, result.err), (0, ""))
    return made


def sections(text, marks="##"):
    """The sections of a Markdown page by their headings, without those within them."""
    parts = re.split(rf"^{marks} (.+)$", text, flags=re.MULTILINE)
    return {heading.strip("`"): body for heading, body in zip(parts[1::2], parts[2::2])}


def rows(section):
    """The first table of a section: lists of cells, without the header."""
    lines = [line for line in section.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def options(help_text):
    """The options in a help: the long name, the letter and the whole description."""
    part = help_text.split("\nOptions:\n")[1].split("\n\n")[0]
    found = {}
    for line in part.split("\n"):
        start = re.match(r"^ {2}(?:-(\w), | {4})(--[\w-]+)(.*)$", line)
        if start:
            name = start[2]
            found[name] = (start[1], start[3])
        else:
            letter, text = found[name]
            found[name] = (letter, f"{text} {line.strip()}")
    return found


def commands():
    """The names of statusctl's commands."""
    part = run(STATUSCTL, "--help").out.split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^ {2}(\w+)", part, flags=re.MULTILINE)


@test("man and mandoc have nothing to complain about the manual pages, and each line fits 80 columns")
def clean():
    for page in PAGES:
        path = f"{folder().name}/{page}"
        equal(run("mandoc", "-T", "lint", path).out, "")
        result = run("man", "--warnings", "-l", path, env=environment(MANWIDTH="80", LC_ALL="C.UTF-8", MAN_KEEP_FORMATTING=""))
        equal((result.status, result.err), (0, ""), page)
        too_long = [line for line in result.out.split("\n") if len(line) > 80]
        equal(too_long, [], page)
        name = page.rsplit(".", 1)[0]
        contains(result.out, "NAME\n", f"{name} - ", "SEE ALSO", "2023-11-14", f"{name.upper()}({page[-1]})")
        # What would be lost without the filter: links to Markdown, and its tables.
        assert not re.search(r"\.\d\.md|│.*│", result.out), page


@test("the whole manual is in man's pages: each word of the Markdown is in the page that is made of it")
def complete():
    for page in PAGES:
        text = run("man", "-l", f"{folder().name}/{page}", env=environment(MANWIDTH="1000", LC_ALL="C.UTF-8")).out.lower()
        markdown = re.sub(r"\]\([^)]*\)", "]", (SOURCES / f"{page}.md").read_text(encoding="utf-8"))
        words = set(re.findall(r"[A-Za-z][A-Za-z0-9]{3,}", markdown.replace("…", " ")))
        # Hyphens at the ends of lines are soft.
        text = text.replace("\u2010\n", "").replace("\u2010", "-")
        # The names of the first two columns of tables are not in lists.
        headers = {word for cells in re.findall(r"^\|(.*)\n\|[-|:]+$", markdown, flags=re.MULTILINE) for word in re.findall(r"\w+", cells)}
        missing = sorted(word for word in words if word.lower() not in text and word not in headers)
        equal(missing, [], page)


@test("statusctl(1) describes each command with its options and their defaults, and no other")
def statusctl():
    manual = (SOURCES / "statusctl.1.md").read_text(encoding="utf-8")
    parts = sections(manual)
    equal(sorted(re.match(r"`(\w+)`", cells[0])[1] for cells in rows(parts["Commands"])), sorted(commands()))
    described = sections(parts["Commands in detail"], "###")
    common = {re.search(r"--[\w-]+", cells[0])[0] for cells in rows(parts["Options of all commands"])}
    equal(common, set(OF_ALL))
    for command in commands():
        text = described.get(command, "")
        found = options(run(STATUSCTL, command, "--help").out)
        own = {name: value for name, value in found.items() if name not in OF_ALL}
        for name, (letter, help_text) in own.items():
            assert f"`{name}`" in text, f"statusctl(1), {command}: no {name}"
            if letter:
                contains(text, f"`-{letter}`")
            default = re.search(r"\(default: ([^)]*)\)", help_text)
            if default:
                row = next((line for line in text.split("\n") if f"`{name}`" in line and line.startswith("|")), "")
                for word in re.findall(r"\w+", default[1]):
                    assert word in row, f"statusctl(1), {command} {name}: the default is “{default[1]}”, the manual says {row}"
        named = set(re.findall(r"`(--[\w-]+)`", text))
        unknown = {name for name in named if name not in found and not any(name in options(run(STATUSCTL, other, "--help").out) for other in commands())}
        equal(unknown, set(), f"options of {command} that do not exist")
        for cells in rows(text):
            name = re.search(r"`(--[\w-]+)`", cells[0])
            assert not name or name[1] in found, f"statusctl(1), {command}: {name[1]} is not one of its options"


@test("statusctl(1) has the exit statuses of the program, and each field of --format")
def lists():
    manual = sections((SOURCES / "statusctl.1.md").read_text(encoding="utf-8"))
    table = run(STATUSCTL, "--help").out.split("Exit status:\n")[1].split("\n\n")[0]
    equal([cells[0] for cells in rows(manual["Exit status"])], re.findall(r"^ +(\d+)  ", table, flags=re.MULTILINE))
    known = re.search(r"the fields are ([\w, ]+)", run(STATUSCTL, "list", "--format", "{zzzzzzzz}").err)[1].split(", ")
    equal(sorted(re.findall(r"`\{(\w+)\}`", " ".join(cells[0] for cells in rows(manual["Format"])))), sorted(known))


@test("statusd(8) has the options of the daemon")
def statusd():
    manual = sections((SOURCES / "statusd.8.md").read_text(encoding="utf-8"))
    described = {re.search(r"`(--[\w-]+)`", cells[0])[1] for cells in rows(manual["Options"])}
    equal(described, set(options(run(STATUSD, "--help").out)))


@test("statusd-mqtt(8) has the options of the program")
def statusd_mqtt():
    manual = sections((SOURCES / "statusd-mqtt.8.md").read_text(encoding="utf-8"))
    described = set(re.findall(r"^- .*?`(--[\w-]+)`", manual["Options"], flags=re.MULTILINE))
    equal(described, set(options(run(BINARIES / "statusd-mqtt", "--help").out)))


@test("help begins with one line about the command's purpose, and ends with the exit statuses")
def help_texts():
    for command in commands():
        text = run(STATUSCTL, command, "--help").out
        lines = text.rstrip("\n").split("\n")
        assert lines[0].endswith(".") and lines[1] == "", lines[:2]
        statuses = re.findall(r"^ +(\d+)  ", text.split("Exit status:\n")[1], flags=re.MULTILINE)
        equal(set(statuses) >= {"0", "1", "64", "77"}, True, command)
        equal(("3" in statuses, "78" in statuses), (command == "status", command in ("reload", "verify", "init")), command)
        too_long = [line for line in lines if len(line) > 80]
        equal(too_long, [], command)
    # Each command has one line in the list of all.
    part = run(STATUSCTL, "--help").out.split("Commands:\n")[1].split("\n\n")[0]
    equal(len(part.split("\n")), len(commands()))
