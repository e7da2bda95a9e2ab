# SPDX-License-Identifier: Apache-2.0
"""`statusctl metrics`, read by Debian's Prometheus, with the rules and the dashboard in packaging/examples."""

import json
import random
import re

from harness.attacker import need_root
from harness.daemon import NOBODY, Daemon, environment, readable_binaries, run
from harness.expect import contains, equal, eventually, one_sentence
from harness.prometheus import EXAMPLES, RULES, check_metrics, prometheus
from harness.receivers import need
from harness.runner import test

WORDS = ("s", "ms", "kb", "d", "days", "weeks", "kilobytes", "milliseconds", "mebibits", "seconds", "bytes", "ratio", "total", "count", "sum", "bucket",
         "info", "created", "gauge", "counter", "summary", "histogram", "a", "B", "camelCase", "2", "größe", "\"}", "{le=", "#")
"""Parts of names, most of which promtool would complain about."""
ODD = ("'a b'=1 'a-b'=2 /=5GB rta=12ms 'x\"} 1'=3 n_total=4 count=4 time_s=5 c=7c C=8 uptime_days=3 größe=9kB gauge=1 kilobytes=2 "
       "x_sum=3 requests_total=5c neg=-1c percent=5% Δ=1 camelCase=1")


def odd_servers():
    """Servers whose plugins write up to 32 values each, with names made of these words and any unit."""
    chance = random.Random(45)
    for number in range(5):
        values = (f"'{chance.choice(' -_/.').join(chance.choices(WORDS, k=chance.randint(1, 3)))}'={chance.randint(0, 99)}"
                  f"{chance.choice(('', '', 'c', '%', 's', 'ms', 'B', 'KB', 'MiB', 'd', 'days', 'C', 'count', 'h/x'))}" for _ in range(32))
        yield f"  odd{number}: {{ exec: [/bin/echo, {json.dumps('OK | ' + ' '.join(values))}] }}\n"


def samples(text):
    """The samples of a text: values by name and labels."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
    equal(len(found), len(lines), "samples with the same labels")
    return found


@test("the metrics are what the daemon knows; promtool has nothing to say about them, whatever a plugin writes")
def text():
    with Daemon("servers:\n  db: { push: true, ttl: 1h }\n  none: { push: true }\n  root: { disk: / }\n"
                f"  odd: {{ exec: [/bin/echo, {json.dumps('OK | ' + ODD)}] }}\n" + "".join(odd_servers())) as daemon:
        check_metrics(daemon.done("metrics"))
        for name in ("odd", *(f"odd{number}" for number in range(5))):
            daemon.done("wait", name, "--timeout", "15s")
        daemon.done("refresh", "root")
        daemon.done("post", "db", 'a"b\\c\nd', "--level", "critical")
        daemon.done("silence", "db", "--reason", 'x"\n')
        daemon.done("select", "db")
        written = daemon.done("metrics")
        check_metrics(written)
        found = samples(written)
        equal({name: value for name, value in found.items() if name.startswith("statusd_server_level")},
              {'statusd_server_level{server="db"}': 2, 'statusd_server_level{server="root"}': found['statusd_server_level{server="root"}'],
               **{f'statusd_server_level{{server="{name}"}}': 0 for name in ("odd", "odd0", "odd1", "odd2", "odd3", "odd4")}})
        equal(sum(name.startswith("statusd_value_") and 'server="odd3"' in name for name in found), 32)
        for name, value in (('selected{server="db"}', 1), ('selected{server="odd"}', 0), ('silenced{server="db"}', 1), ('stale{server="db"}', 0),
                            ('info{server="odd",source="exec"}', 1)):
            equal(found[f"statusd_server_{name}"], value, name)
        equal(found['statusd_servers{level="none"}'], 1)
        equal(found['statusd_value_rta_seconds{server="odd"}'], 0.012)
        equal(found['statusd_value_requests_total{server="odd"}'], 5)
        used = {value["name"]: value["value"] for value in daemon.describe("root")["values"]}
        equal(found['statusd_value_used_ratio{server="root"}'], used["used"] / 100)
        equal(found['statusd_value_free_bytes{server="root"}'], used["free"])
        open_metrics = daemon.done("metrics", "--openmetrics")
        equal((set(samples(open_metrics)) - set(found), open_metrics.splitlines()[-1]), (set(), "# EOF"))


@test("a user without any right in statusd gets the metrics, also of receivers, whose programs only others may see")
def ordinary_user():
    need_root()
    with Daemon("alerts: { mail: { run: [/bin/false, secret], batch: 0s }, chat: { run: [/bin/true], batch: 0s } }\n"
                "servers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "db", "down", "--level", "critical")
        readable_binaries(daemon.folder)

        def ask(*arguments):
            return run(daemon.folder / "statusctl", *arguments, user=NOBODY, group=NOBODY, extra_groups=[],
                       env=environment(STATUSD_ADDRESS=f"unix:{daemon.socket}"))

        def told():
            found = samples(ask("metrics").out)
            return {name[len("statusd_alerts_"):]: value for name, value in found.items() if name.startswith("statusd_alerts_")}

        wanted = {"mail": {"due": 1, "held": 0, "deliveries_total": 0, "failures_total": 1, "consecutive_failures": 1},
                  "chat": {"due": 0, "held": 0, "deliveries_total": 1, "failures_total": 0, "consecutive_failures": 0}}
        wanted = {f'{name}{{receiver="{receiver}"}}': value for receiver, values in wanted.items() for name, value in values.items()}
        eventually(lambda: equal(told(), wanted) is None)
        equal((ask("alerts").status, "secret" in ask("metrics").out), (77, False))
        daemon.done("silence", "db")
        eventually(lambda: told()['held{receiver="mail"}'] == 1 and told()['due{receiver="mail"}'] == 0, "a held alert")


@test("the metrics say that the configuration has errors or was refused, and when it has none again")
def configuration():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        good = daemon.file.read_text()
        for text_of_file, wanted in ((good + "  x: {}\n", 0), ("servers: { db: { push: true }, bad: { tcp: no } }\n", 0), (good, 1)):
            daemon.file.write_text(text_of_file)
            daemon.ctl("reload")
            found = samples(daemon.done("metrics"))
            equal((found["statusd_reload_successful"], found["statusd_notices"]), (wanted, 1 - wanted), text_of_file)


@test("without a daemon there are no metrics, only the reason")
def no_daemon():
    with Daemon(start=False) as daemon:
        result = daemon.ctl("metrics")
        equal(result.out, "")
        contains(one_sentence(result, 69), "cannot reach the daemon")


@test("with the package's rules, Prometheus raises an alert when a server turns critical, resolves it when it is ok, and raises none for a silenced one")
def rules():
    need("promtool", "prometheus")
    checked = run("promtool", "check", "rules", RULES)
    equal(checked.status, 0, checked.out + checked.err)
    with Daemon("servers: { db: { push: true }, root: { disk: / }, web: { push: true } }\nalerts: { mail: { run: [/bin/true] } }\n") as daemon:
        daemon.done("post", "db", "up")
        daemon.done("post", "web", "up")

        def both(name, *servers):
            return sorted((name, server, job) for server in servers for job in ("text", "openmetrics"))

        with prometheus(lambda is_open: daemon.ctl("metrics", *["--openmetrics"][:is_open]).out) as server:
            eventually(lambda: server.query("min(up)") == [({}, 1)] and server.query("count(statusd_server_level)") == [({}, 6)], "both formats")
            equal(server.firing(), [])
            daemon.done("post", "db", "down", "--level", "critical")
            eventually(lambda: server.firing() == both("StatusdServerCritical", "db"), "an alert")
            daemon.done("post", "web", "slow", "--level", "warning")
            eventually(lambda: server.firing() == both("StatusdServerCritical", "db") + both("StatusdServerWarning", "web"), "a second alert")
            daemon.done("silence", "web")
            daemon.done("post", "db", "up")
            eventually(lambda: server.firing() == [], "no alert")
            dashboard(server)
            daemon.stop()
            eventually(lambda: server.firing() == both("StatusdMissing", None), "the alert that there are no metrics")
            daemon.start()
            eventually(lambda: server.firing() == [], "no alert again")


def dashboard(server):
    """Each query of the dashboard is valid and finds what exists."""
    panels = json.loads((EXAMPLES / "grafana-dashboard.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in panels["panels"] for target in panel["targets"]]
    assert len(expressions) > 10, expressions
    for expression in expressions:
        found = server.query(re.sub(r"\$\w+", ".*", expression))
        absent = any(name in expression for name in ("time_seconds{", "expires_seconds", "> 0"))
        assert found or absent, expression
    for variable in panels["templating"]["list"][1:]:
        metric, label = re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", variable["definition"]).groups()
        assert any(label in labels for labels, _ in server.query(metric)), variable["definition"]


@test("each metric and each label that the rules and the dashboard use exists, and the manual describes each metric")
def names():
    follows = "mqtt: { broker: mqtt://127.0.0.1, publish: false, follow: [web1] }\n"
    with Daemon("alerts: { mail: { run: [/bin/true] } }\nservers: { db: { push: true }, root: { disk: / } }\n" + follows) as daemon:
        daemon.done("post", "db", "up")
        with daemon.connect() as connection:
            connection.call("ReportHost", {"host": "web1", "state": "ready", "epoch": 1})
        daemon.done("refresh", "root")
        families = set(re.findall(r"^# TYPE (\w+)", daemon.done("metrics"), flags=re.MULTILINE))
    used = "".join((EXAMPLES / name).read_text(encoding="utf-8") for name in ("prometheus-rules.yml", "grafana-dashboard.json"))
    equal(set(re.findall(r"\bstatusd_\w+", used)) - families - {"statusd_value_time_seconds", "statusd_value_expires_seconds"}, set())
    manual = (EXAMPLES.parent / "man/statusctl.1.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `(statusd_\w+)` ", manual, flags=re.MULTILINE))
    equal({name for name in families if not name.startswith("statusd_value_")}, described)
