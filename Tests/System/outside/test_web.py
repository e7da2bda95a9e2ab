# SPDX-License-Identifier: Apache-2.0
"""statusd-web: what it answers, and how its event streams follow the daemon."""

import contextlib
import json
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.site import Events, Site

SERVERS = "accept: any\nhistory: { keep: 1d }\nservers:\n  db: { push: true }\n  web: { push: true }\n  disk: { disk: /, interval: 1h }\n"


@test("web: the API has the JSON of statusctl; a history begins with the state that held; summaries come in one answer")
def api():
    with Daemon(SERVERS) as daemon, Site(daemon) as site:
        daemon.done("post", "db", "first")
        daemon.done("wait", "disk", "--timeout", "10s")
        equal(site.json("/api/list"), json.loads(daemon.done("list", "--json")))
        described = site.json("/api/status/disk")["server"]
        equal(described["values"], daemon.describe("disk")["values"])
        equal(site.json("/api/alerts"), {"receivers": []})
        between = daemon.describe("db")["status"]["changedAt"]
        time.sleep(0.002)
        daemon.done("post", "db", "second", "--level", "warning")
        eventually(lambda: len(site.lines("/api/history/db")) == 3, "the saved history")
        later = site.lines("/api/history/db")[-1]["at"]
        equal([change.get("text") for change in site.lines(f"/api/history/db?since={later}")], ["first", "second"])
        equal([change["text"] for change in site.lines("/api/history/db?limit=1")], ["second"])
        equal([change["text"] for change in site.lines("/api/history/db?level=warning")], ["second"])
        found = site.lines(f"/api/summary?server=db&server=nosuch&server=web&since={between}&buckets=2")
        equal([line.get("server", line.get("error")) for line in found], ["db", "org.statusd.monitor.NoSuchServer", "web"])
        equal(len(found[0]["buckets"]), 2)


@test("web: each mistake in an address is answered by a status and a sentence")
def mistakes():
    with Daemon(SERVERS) as daemon, Site(daemon) as site:
        for target, status, part in (
                ("/nosuch/x", 404, "nothing at this address"), ("/api/nosuch", 404, "nothing at this address"), ("/badge/db", 404, "badge/NAME.svg"),
                ("/api/status/nosuch", 404, "NoSuchServer"), ("/api/status", 404, "NothingSelected"), ("/api/history/a%20b", 400, "the name of a server must start with"),
                ("/api/history/db?since=yesterday", 400, "since must be a time"), ("/api/history?limit=0", 400, "limit must be from 1"),
                ("/api/summary", 400, "server=db"), ("/api/summary?" + "server=db&" * 65, 400, "1 to 64"), ("/api/summary?server=db&buckets=0", 400, "buckets must be from 1"), ("/%zz", 400, "invalid"), ("/%00", 400, "invalid")):
            found = site.get(target)
            equal(found[0], status, f"{target}: {found[1]}")
            contains(found[1], part)
        for method in "PUT", "DELETE", "OPTIONS", "POST":
            status, headers, body = site.request(method, "/api/select", "{}")
            equal((status, headers["Allow"]), (403, None) if method == "POST" else (405, "GET, HEAD"))
        contains(body, "actions are off")
        equal(site.request("HEAD", "/api/list")[2], "")


@test("web: the page may only load its own files, is not asked for again, and answers only to names of this host")
def page():
    with Daemon(SERVERS) as daemon, Site(daemon, "--host", "status.example.org,other") as site:
        for target in "/", "/db", "/page.css", "/page.js":
            status, headers, body = site.request("GET", target)
            equal(status, 200, target)
            contains(headers["Content-Security-Policy"], "default-src 'none'", "frame-ancestors 'none'")
            assert "unsafe" not in headers["Content-Security-Policy"] and body
            status, _, body = site.request("GET", target, If_None_Match=headers["ETag"])
            equal((status, body), (304, ""))
        for name, status in (("127.0.0.1", 200), ("[::1]:80", 200), ("localhost:8470", 200), ("status.example.org", 200), ("OTHER:1", 200), ("evil.example", 421), ("", 421)):
            equal(site.get("/", Host=name)[0], status, name)
        contains(site.get("/", Host="evil.example")[1], "--host")
        equal(site.answer(b"GET / HTTP/1.1\r\n\r\n").split(b" ")[1], b"400")
        equal(site.answer(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n").split(b" ")[1], b"400")


@test("web: events come in order and once; who returns gets what came meanwhile, also over a restart; an unknown position is a gap")
def events():
    with Daemon(SERVERS) as daemon, Site(daemon) as site:
        daemon.done("wait", "disk", "--timeout", "10s")
        with Events(site) as stream:
            first = stream.next()
            equal((first["kind"], sorted(server["name"] for server in first["servers"])), ("snapshot", ["db", "disk", "web"]))
            equal(first["web"]["actions"], False)
            for number in range(5):
                daemon.done("post", "db", f"text {number}")
                found = stream.next("changed")
                equal(found["server"]["status"]["text"], f"text {number}")
                assert found["time"] > "2026"
            daemon.done("select", "db")
            equal(stream.next("selected")["server"]["name"], "db")
            seen = stream.last
        for number in range(5, 8):
            daemon.done("post", "db", f"text {number}")

        def expect_rest(stream):
            equal([stream.next()["server"]["status"]["text"] for _ in range(3)], ["text 5", "text 6", "text 7"])

        with Events(site, "/events", Last_Event_ID=seen) as stream:
            expect_rest(stream)
        with Events(site, f"/events?since={seen}") as stream:
            expect_rest(stream)
        equal(site.stop(), 0)
        site.start()
        with Events(site, f"/events?since={seen}") as stream:
            expect_rest(stream)
            daemon.done("post", "web", "live")
            equal(stream.next()["server"]["name"], "web")
        for position in "00000000000000000000000000000001.5", "nonsense", f"{seen.split('.')[0]}.999999999":
            with Events(site, f"/events?since={position}") as stream:
                equal([stream.next()["kind"] for _ in range(2)], ["gap", "snapshot"])


@test("web: a daemon that ends or hangs is told within two seconds; when it is back, the events go on without a new snapshot")
def cut_off():
    with Daemon(SERVERS) as daemon, Site(daemon) as site, Events(site) as stream:
        stream.next("snapshot")
        stream.next("alive")
        daemon.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert stream.next("disconnected")["since"]
        equal(site.get("/health")[0], 503)
        daemon.process.send_signal(signal.SIGCONT)
        stream.next("alive")
        equal(daemon.stop(), 0)
        assert stream.next("disconnected")["since"]
        equal(site.get("/api/list")[0], 503)
        contains(site.get("/badge/db.svg")[1], "not known now")
        daemon.start()
        stream.next("alive")
        daemon.done("post", "db", "back")
        found = [stream.next()]
        while found[-1].get("server", {}).get("status", {}).get("text") != "back":
            found.append(stream.next())
        assert "snapshot" not in [event["kind"] for event in found], found
        assert time.monotonic() - began < 60


@test("web: metrics are those of statusctl, in the format that is asked for")
def metrics():
    with Daemon(SERVERS) as daemon, Site(daemon) as site:
        daemon.done("post", "db", "full", "--level", "critical")
        status, headers, body = site.request("GET", "/metrics")
        equal((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        contains(body, 'statusd_server_level{server="db"} 2\n')
        equal([line for line in body.splitlines() if "timestamp" not in line], [line for line in daemon.done("metrics").splitlines() if "timestamp" not in line])
        status, headers, body = site.request("GET", "/metrics", Accept="application/openmetrics-text;version=1.0.0")
        contains(headers["Content-Type"], "application/openmetrics-text")
        assert body.endswith("# EOF\n")


@test("web: a badge says the level by a word, a shape and a colour, also of names with any characters")
def badge():
    with Daemon(SERVERS + '  "a:b@c": { push: true }\n') as daemon, Site(daemon) as site:
        for level, word in (("ok", "✓ ok"), ("warning", "▲ warning"), ("critical", "■ critical"), ("unknown", "◆ unknown")):
            daemon.done("post", "a:b@c", "x", "--level", level)
            eventually(lambda word=word: word in site.get("/badge/a:b@c.svg")[1], word)
        contains(site.get("/badge/nosuch.svg")[1], "no such server")


@test("web: people whom a proxy has authenticated may refresh, select and silence; nobody else, and no page of another site")
def actions():
    with Daemon(SERVERS) as daemon, Site(daemon, "--actions", path=str(daemon.folder / "web")) as site:
        json_type = {"Content_Type": "application/json"}
        known = {**json_type, "Remote_User": "alice"}
        with Events(site, "/events", Remote_User="alice") as stream:
            equal(stream.next()["web"]["actions"], True)
        with Events(site) as stream:
            equal(stream.next()["web"]["actions"], False)
        status, _, body = site.request("POST", "/api/select", '{"server": "db"}', **known)
        equal((status, json.loads(body)["server"]["name"]), (200, "db"))
        equal(site.request("POST", "/api/refresh", '{"server": "disk"}', **known)[0], 200)
        equal(json.loads(site.request("POST", "/api/refresh", "{}", **known)[2]), {"failed": []})
        status, _, body = site.request("POST", "/api/refresh", '{"server": "db"}', **known)
        equal((status, json.loads(body)["error"]), (409, "org.statusd.monitor.NotRefreshable"))
        status, _, body = site.request("POST", "/api/silence", '{"servers": ["db"], "until": "2099-01-01T00:00:00Z"}', **known)
        equal((status, json.loads(body)["error"]), (400, "org.statusd.monitor.InvalidSilence"))
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        status, _, body = site.request("POST", "/api/silence", json.dumps({"servers": ["db"], "until": until, "reason": "work"}), **known)
        equal((status, json.loads(body)["silenced"], daemon.describe("db")["silence"]["reason"]), (200, ["db"], "work (alice)"))
        equal(json.loads(site.request("POST", "/api/unsilence", "{}", **known)[2]), {"unsilenced": ["db"]})
        for fields in (json_type, {**json_type, "Remote_User": ""}, {"Remote_User": "alice"}, {**known, "Content_Type": "text/plain"},
                       {**known, "Origin": "http://evil.example"}, {**known, "Sec_Fetch_Site": "cross-site"}):
            status, _, body = site.request("POST", "/api/select", '{"server": "web"}', **fields)
            equal(status, 403, f"{fields}: {body}")
        equal(daemon.describe()["name"], "db")
        equal(site.request("POST", "/api/select", '{"name": "web"}', **known)[0], 400)
        equal(site.request("GET", "/api/select", Remote_User="alice")[0], 404)
    with Daemon(SERVERS) as daemon, Site(daemon, "--actions") as site:
        equal(site.request("POST", "/api/select", '{"server": "db"}', **known)[0], 403, "over TCP anybody can claim to be anybody")


@test("web: seventy visitors who ask all the time each get every answer while it is started again and again")
def restarts():
    with Daemon(SERVERS) as daemon, Site(daemon) as site, ThreadPoolExecutor(70) as visitors:
        ended = threading.Event()

        def ask():
            answers = 0
            while not ended.is_set():
                equal(site.request("GET", "/", Connection="close")[0], 200)
                answers += 1
            return answers

        asking = [visitors.submit(ask) for _ in range(70)]
        try:
            for _ in range(6):
                equal(site.stop(), 0)
                site.start()
        finally:
            ended.set()
        assert sum(each.result() for each in asking) > 70


@test("web: with many streams, events come together, each once and in order, also to who comes meanwhile")
def many_streams():
    with Daemon(SERVERS) as daemon, Site(daemon) as site, contextlib.ExitStack() as opened, daemon.connect() as poster:
        daemon.done("wait", "disk", "--timeout", "10s")
        streams = [opened.enter_context(Events(site)) for _ in range(40)]
        for stream in streams:
            stream.next("snapshot")
        for number in range(100):
            poster.call("Post", {"server": "db", "text": f"text {number}"})
            if number == 50:
                late = opened.enter_context(Events(site))
        for stream in streams:
            equal([stream.next("changed")["server"]["status"]["text"] for _ in range(100)], [f"text {number}" for number in range(100)])
        state = {server["name"]: server for server in late.next("snapshot")["servers"]}["db"]["status"]["text"]
        known = int(state.split()[1])
        equal([late.next("changed")["server"]["status"]["text"] for _ in range(99 - known)], [f"text {number}" for number in range(known + 1, 100)])
