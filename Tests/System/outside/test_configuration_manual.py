# SPDX-License-Identifier: Apache-2.0
"""The configuration's manual and the installed file: both have every key that the program accepts, with the same defaults."""

import json
import pathlib
import re
import socket

from harness.daemon import STATUSCTL, Daemon, environment, run
from harness.expect import equal
from harness.runner import test

PROJECT = pathlib.Path(__file__).resolve().parents[3]
MANUAL = PROJECT / "packaging" / "man" / "statusd.yaml.5.md"
INSTALLED = PROJECT / "packaging" / "statusd.yaml"

PLACES = {"Top level": (), "Sources": ("server",), "Options of a server": ("server",), "Alerts": ("alerts",), "MQTT": ("mqtt",), "Limits": ("limits",), "History": ("history",)}
"""The headings below which settings are, and the mapping that has their keys: `server` is an entry of `servers`, `alerts` of `alerts`."""

PLACEHOLDER = ("server", "placeholder")
"""A reload shows a placeholder as a change, even if it is the default."""

FACTS = re.compile(r"Type: (?P<type>[^\n]+?)\.(?: Range: (?P<range>[^\n]+?)\.)?(?: Default: (?:`(?P<default>[^`\n]+)`|none|see below)\.| Required\.)"
                   r"(?: Sources: [^\n]+\.)?")
"""The line below the heading of a setting."""


def sections(text):
    """The settings in the manual: the path of each key, such as ("server", "http", "url"), and its section."""
    found, place, source = {}, None, ()
    for heading, body in re.findall(r"^(#{2,4} [^\n]+)\n(.*?)(?=^#{2,4} |\Z)", text, re.DOTALL | re.MULTILINE):
        level, name = heading.split(" ", 1)
        if level == "##":
            place = PLACES.get(name)
            if place in (("limits",), ("history",), ("alerts",), ("mqtt",)):
                found[place] = body
        elif place is not None and name.startswith("`"):
            # “`keep` in `history`”, or “`select`”
            parent = place if level == "###" else source
            within = "" if parent in ((), ("server",)) else f" in `{parent[-1]}`"
            key = name.removesuffix(within).strip("`")
            equal(name, f"`{key}`{within}", "the heading of a setting")
            where = (*parent, key)
            source = where if level == "###" else source
            assert where not in found, f"{MANUAL.name} has {where} twice"
            found[where] = body
    return found


def examples(body):
    """The configurations that a part of the manual shows."""
    return re.findall(r"^```yaml\n(.*?)^```$", body, re.DOTALL | re.MULTILINE)


def settings_lines(text):
    """The lines of settings of the installed file, without the `#` before them."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        assert not line or line.startswith("#"), f"{INSTALLED.name}:{number} is not a comment"
    return [line[1:] for line in lines if re.match(r"#(?:[^ ]|  +\w+:)", line)]


def installed_settings(text):
    """The settings of the installed file: the paths of each key, as in the manual, and its value."""
    found, path = {}, []
    for line in settings_lines(text):
        indentation, key, value = re.fullmatch(r"( *)([a-z]+):(?: (.+))?", line).groups()
        depth, rest = divmod(len(indentation), 2)
        assert rest == 0 and depth <= len(path), f"the indentation of “{line}”"
        path = [*path[:depth], key]
        place = tuple(path)
        if place[0] in ("servers", "alerts") and len(place) == 2:
            continue  # the name of a server or a receiver
        if place[0] == "alerts" and len(place) > 2:
            place = ("alerts", *place[2:])
        if place[0] in ("servers", "defaults") and len(place) > 1:
            place = ("server", *place[2 if place[0] == "servers" else 1:])
        found[place] = value
    return found


def known_keys(daemon):
    """The path of each key that the program accepts, from verify's lists for an unknown one."""
    def verify(configuration):
        daemon.file.write_text(configuration)
        return daemon.ctl("verify", daemon.file).err

    def known(configuration):
        lists = re.findall(r"(?:known keys are|the only key is) (.*)", verify(configuration))
        return [key.strip("“”") for keys in lists for key in keys.split(", ")]

    kinds = re.findall("“([a-z]+)”", verify("servers: { a: { description: x } }\n").partition("add one of")[2])
    found = {(key,) for key in known("x: 1\n")}
    for section in ("limits", "history"):
        found |= {(section, key) for key in known(f"{section}: {{ x: 1 }}\n")}
    found |= {("alerts", key) for key in known("alerts: { a: { run: [/bin/true], x: 1 } }\n")}
    found |= {("mqtt", key) for key in known("mqtt: { broker: mqtt://a, x: 1 }\n")}
    found |= {("server", "alert", key) for key in known("servers: { a: { push: true, alert: { x: 1 } } }\n")}
    entry = known("servers: { a: { push: true, x: 1 } }\n")
    equal(set(known("servers: { a: { x: 1 } }\n")), set(kinds) | set(entry))
    equal(set(known("defaults: { x: 1 }\n")), set(entry) - {"description", "was", "parent"}, "the keys of defaults")
    found |= {("server", key) for key in [*kinds, *entry]}
    for kind in kinds:
        found |= {("server", kind, key) for key in known(f"servers: {{ a: {{ {kind}: {{ x: 1 }} }} }}\n")}
    for expected in (("select",), ("limits", "files"), ("history", "keep"), ("server", "ttl"), ("server", "http", "url"), ("server", "notify", "users")):
        assert expected in found, f"verify does not name {expected}: {sorted(found)}"
    return found


def companions(place):
    """The required keys beside a key in a kind's mapping, with the values of the manual's examples."""
    beside = {other: body for other, body in sections(MANUAL.read_text()).items() if other[:-1] == place[:-1] and other != place}
    required = {other[-1]: body for other, body in beside.items() if body.lstrip().split("\n")[0].endswith("Required.")}
    return "".join(f", {key}: {shown(body, key)}" for key, body in required.items())


def shown(body, key):
    """The value of a key in the example of its section, which is in a mapping in one line, or alone in a line."""
    example, = examples(body)
    return re.search(rf"\b{key}: (\[[^]]*\]|\"[^\"]*\"|'[^']*'|[^,}}\n]+?)(?:,| ?}}|\n)", example)[1]


def with_value(place, value):
    """A configuration with this value at a path, and with the other keys that it needs."""
    *outer, key = {"server": ("servers", "a"), "alerts": ("alerts", "a")}.get(place[0], place[:1]) + place[1:]
    text = f"{key}: {value}"
    if place[0] == "server" and len(place) == 2:
        text += ", exec: [/bin/true]"
    if place[0] == "server" and len(place) == 3 and place[1] != "alert":
        text += companions(place)
    if place[:2] == ("server", "alert"):
        outer, text = outer[:-1], f"alert: {{ {text} }}, exec: [/bin/true]"
    if place[0] == "alerts":
        text += ", run: [/bin/true]"
    for name in reversed(outer):
        text = f"{name}: {{ {text} }}"
    return text + "\n"


def silent(daemon, configuration, what):
    """Requires that verify finds nothing in a configuration."""
    authorities = daemon.folder / "ca.pem"
    authorities.touch()
    engine = daemon.folder / "engine.sock"
    if not engine.exists():
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(engine))
    installed = {"/etc/statusd/ca.pem": authorities, "/usr/lib/statusd/alerts": PROJECT / "packaging/alerts",
                 "/run/docker.sock": engine, "/run/podman/podman.sock": engine}
    for path, here in installed.items():
        configuration = configuration.replace(path, str(here))
    daemon.file.write_text(configuration)
    result = run(STATUSCTL, "verify", daemon.file, env=environment())
    # Whether the group of this user may ping depends on the host.
    equal((result.status, [line for line in result.err.splitlines() if "may not ping" not in line]), (0, []), what)
    problems = json.loads(daemon.ctl("verify", daemon.file, "--json").out)["problems"]
    equal([problem for problem in problems if "may not ping" not in problem["reason"]], [], what)


@test("statusd.yaml(5) has a section for each key of the configuration, and packaging/statusd.yaml a line for each that is not of one kind of source")
def every_key():
    with Daemon("servers: {}\n", start=False) as daemon:
        known = known_keys(daemon)
    documented = sections(MANUAL.read_text())
    equal(known - set(documented), set(), f"keys that {MANUAL.name} lacks")
    equal(set(documented) - known, set(), f"keys that only {MANUAL.name} has")
    installed = set(installed_settings(INSTALLED.read_text()))
    kinds = {place for place, body in documented.items() if place[0] == "server" and "Sources:" not in body}
    equal({place for place in known - installed if place[:2] not in kinds}, set(), f"keys that {INSTALLED.name} lacks")
    equal(installed - known, set(), f"keys that only {INSTALLED.name} has")


@test("each section of statusd.yaml(5) has a type, a range or default, an explanation and an example with its key")
def shape():
    for place, body in sections(MANUAL.read_text()).items():
        paragraphs = body.strip().split("\n\n")
        assert FACTS.fullmatch(paragraphs[0]), f"{place}: {paragraphs[0]}"
        assert not paragraphs[1].startswith("```"), f"{place} has no explanation"
        shown = examples(body)
        equal(len(shown), 1, f"examples of {place}")
        assert re.search(rf"(?:^|[ {{]){place[-1]}: ?", shown[0], re.MULTILINE), f"the example of {place} does not have its key"


@test("each example in statusd.yaml(5) is a valid configuration, without a warning")
def valid_examples():
    with Daemon("servers: {}\n", start=False) as daemon:
        shown = examples(MANUAL.read_text())
        assert len(shown) > len(sections(MANUAL.read_text())), len(shown)
        for example in shown:
            silent(daemon, example, example)


@test("the range of each number and time in statusd.yaml(5) is the one that the program names when a value is invalid")
def same_ranges():
    def plain(bound):
        """A bound of a range as verify writes it."""
        bound = bound.replace("2^50", str(1 << 50)).removesuffix(" bytes")
        if size := re.fullmatch(r"(\d+)([KMG])", bound):
            return str(int(size[1]) << {"K": 10, "M": 20, "G": 30}[size[2]])
        return re.sub(r" (ms|s|min|h|d)(?:ays)?$", r"\1", bound)

    compared = 0
    with Daemon("servers: {}\n", start=False) as daemon:
        for place, body in sections(MANUAL.read_text()).items():
            facts = FACTS.match(body.strip())
            if facts["type"] not in ("time", "size", "count", "percentage", "number"):
                continue
            daemon.file.write_text(with_value(place, "x"))
            named = re.search(rf"“{place[-1]}” must be a (?:(?:time|whole number)|(?:percentage|number) such as \S+,) from (\S+) to ([^\s,]+)", daemon.ctl("verify", daemon.file).err)
            equal(tuple(plain(bound) for bound in facts["range"].split(" to ")), named.groups(), str(place))
            compared += 1
    assert compared >= 28, compared


@test("the defaults in packaging/statusd.yaml are those in statusd.yaml(5)")
def same_defaults():
    installed = installed_settings(INSTALLED.read_text())
    defaults = {place: FACTS.match(body.strip())["default"] for place, body in sections(MANUAL.read_text()).items()}
    named = {place: default for place, default in defaults.items() if default}
    assert len(named) >= 18, named
    equal({place: installed[place] for place in named if place in installed}, {place: named[place] for place in named if place in installed})


@test("a value that statusd.yaml(5) gives as a default changes no server")
def defaults_change_nothing():
    compared = 0
    with Daemon("servers: {}\n") as daemon:
        for place, body in sections(MANUAL.read_text()).items():
            default = FACTS.match(body.strip())["default"]
            if place[0] != "server" or place == PLACEHOLDER or not default:
                continue
            configuration = with_value(place, default)
            without, count = re.subn(re.escape(f"{place[-1]}: {default}") + "(, )?", "", configuration, count=1)
            equal(count, 1, configuration)
            daemon.file.write_text(without)
            daemon.done("reload")
            daemon.file.write_text(configuration)
            changes = json.loads(daemon.done("reload", "--dry-run", "--json"))
            equal((changes["added"], changes["changed"], changes["removed"], changes["failed"]), ([], [], [], []), configuration)
            compared += 1
    assert compared >= 10, compared


@test("the other defaults in statusd.yaml(5) are those in the code")
def defaults_in_code():
    def number(text):
        """The value of a number in the manual or in the code, times in seconds."""
        text = re.sub(r"\.seconds\(([^)]*)\)", r"\1", text).replace("_", "").replace(".zero", "0")
        units = {"": 1, "K": 1024, "s": 1, "d": 86_400}
        value = 1
        for factor in text.split(" * "):
            digits, unit = re.fullmatch(r"(\d+)([a-zK]?)", factor).groups()
            value *= int(digits) * units[unit]
        return value

    limits = (PROJECT / "Sources/StatusConfiguration/Limits.swift").read_text()
    history, clients = limits.split("public struct Limits")
    checks = (PROJECT / "Sources/Kinds/Shared/Settings/CheckSchedule.swift").read_text()
    configuration_type = (PROJECT / "Sources/StatusConfiguration/Configuration.swift").read_text()
    numbers = {("limits", key): clients for key in ("message", "unsent", "connections", "servers")}
    numbers |= {("limits", key): checks for key in ("checks", "processes", "requests", "files")}
    numbers |= {("history", key): history for key in ("keep", "changes")}
    numbers[("alerts", "batch")] = (PROJECT / "Sources/StatusAlerts/AlertSettings.swift").read_text()
    numbers[("alerts", "timeout")] = (PROJECT / "Sources/StatusConfiguration/ReceiverReader.swift").read_text()
    definition = (PROJECT / "Sources/StatusMonitor/ServerDefinition.swift").read_text()
    mqtt = (PROJECT / "Sources/StatusConfiguration/MQTTSettings.swift").read_text()
    texts = {
        ("mqtt", "publish"): {'["*"]': "all"}[re.search("var publish = (.*)", mqtt)[1]],
        ("mqtt", "follow"): {"[]": "false"}[re.search(r"var follow: \[FollowPattern\] = (.*)", mqtt)[1]],
        ("mqtt", "discovery"): {"Discovery?": "false"}[re.search("var discovery: (.*)", mqtt)[1]],
        ("accept",): {"false": "configured", "true": "any"}[re.search("var acceptsAny = (.*)", configuration_type)[1]],
        PLACEHOLDER: re.search('defaultPlaceholder = "(.*)"', definition)[1],
    }
    found = {place: FACTS.match(body.strip())["default"] for place, body in sections(MANUAL.read_text()).items()}
    found = {place: default for place, default in found.items() if default and (place[0] != "server" or place == PLACEHOLDER)}
    equal(sorted(found), sorted([*numbers, *texts]))
    for place, source in numbers.items():
        value = re.search(rf"\b{place[-1]}(?:: (?:Int|Duration))? = (?:Duration)?([^,\n]+?)(?:,|\n| *\)\s*\{{)", source)[1]
        equal(number(found[place]), number(value), str(place))
    equal({place: found[place] for place in texts}, texts)


@test("packaging/statusd.yaml is valid with all of its settings enabled, and has only comments as installed")
def enabled():
    text = INSTALLED.read_text()
    with Daemon("servers: {}\n", start=False) as daemon:
        silent(daemon, text, "as installed")
        silent(daemon, "\n".join(settings_lines(text)) + "\n", "enabled")
        # Every block alone, with the lines that explain it, as an administrator enables it.
        for block in re.findall(r"^#[a-z]+:[^\n]*\n(?:#[^\n]*\n)*", text, re.MULTILINE):
            lines = [line if re.match(r"# \S", line) else line[1:] for line in block.splitlines()]
            if not block.startswith(("#servers:", "#select:")):
                silent(daemon, "\n".join(lines) + "\n", block)
