# SPDX-License-Identifier: Apache-2.0
"""http: Unix sockets, JSON, regular expressions, bodies of requests, credentials and proxies."""

import contextlib
import gzip
import json
import os
import pathlib
import socket
import tempfile
import threading

from harness.attacker import need_root
from harness.daemon import NOBODY, Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.servers import Certificates, containers, listener, refused_port, web

from .test_http import answering, response
from .test_network_checks import expect, once

SECRET = "Bearer 7bf1c0ffee"


def failed(daemon, name):
    """The message of a server that could not be checked, and has no status."""
    state = eventually(lambda: (state := daemon.describe(name))["phase"] == "failed" and state, f"{name} has failed")
    equal(state.get("status"), None)
    return state["message"]


@test("http: containers of Docker and Podman are checked over a Unix socket, with the value at a path of the JSON")
def unix_socket():
    with containers({"web": "healthy", "db": "unhealthy"}) as path:
        def container(name, more="json: { path: .State.Health.Status, equals: healthy }"):
            return f"{name}: {{ http: {{ socket: {path}, url: 'http://localhost/containers/{name}/json', {more} }} }}"

        lines = [container("web"), container("db"), container("gone"), container("exit", "status: 404, json: .message"),
                 f"missing: {{ http: {{ socket: {path}.none, url: 'http://localhost/' }} }}"]
        with Daemon(once(*lines)) as daemon:
            expect(daemon, "web", "ok", "HTTP 200 in ")
            expect(daemon, "db", "critical")
            equal(daemon.text("db"), "State.Health.Status is “unhealthy”")
            expect(daemon, "gone", "critical", "expected 200-299, got 404")
            expect(daemon, "exit", "ok", "HTTP 404 in ")
            expect(daemon, "missing", "critical")
            equal(daemon.text("missing"), f"cannot connect to {path}.none: no such file or directory")
            contains(daemon.ctl("verify", daemon.file).err, f"cannot connect to {path}.none: No such file or directory")


@test("http: a socket that this user may not connect to fails its server, and the message names the group that may")
def forbidden_socket():
    need_root()
    with containers({"web": "healthy"}) as path:
        os.chmod(path, 0o660)
        os.chown(path, 0, 8)
        line = f"web: {{ http: {{ socket: {path}, url: 'http://localhost/containers/web/json' }} }}"
        with Daemon(once(line), start=False, prefix=("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")) as daemon:
            for part in daemon.folder, *daemon.folder.iterdir():
                os.chown(part, NOBODY, NOBODY)
            daemon.start()
            equal(failed(daemon, "web"), f"cannot connect to {path}: permission denied for the user nobody; add SupplementaryGroups=mail by “systemctl edit statusd”, and restart it")
            os.chmod(path, 0o666)
            contains(daemon.done("refresh", "web"), "HTTP 200")


@test("http: json compares a value with its type; what is missing, too large, too deep or not JSON is critical")
def json_values():
    body = json.dumps({"a": {"b": [1, {"x y": "ü"}]}, "n": 3, "s": "3", "t": True, "f": False, "z": None, "e": "", "o": {}, "": 1})
    wrong = {"/text": "ready", "/half": body[:-1], "/empty": "", "/more": body + "x", "/deep": "[" * 5000 + "]" * 5000, "/bytes": b"\xff",
             "/large": json.dumps(["x" * (1 << 20)]), "/twice": '{"n": 1, "n": 3}', "/packed": gzip.compress(b'{"n": 3}')}
    cases = {
        "'.a.b[0]', equals: 1": None, '\'.a.b[1]."x y"\', equals: ü': None, "'.a[\"b\"][1].[\"x y\"]', equals: ü": None, ".n, equals: 3": None, ".n, equals: 3.0": None, ".n": None,
        ".s, equals: '3'": None, ".t, equals: true": None, ".f, equals: false": None, ".z, equals: null": None, ".e": None, ".o": None, "'.\"\"', equals: 1": None,
        ".n, equals: '3'": "n is 3, not “3”", ".s, equals: 3": "s is “3”, not 3", ".t, equals: 'true'": "t is true, not “true”", ".f": "f is false", ".z": "z is null", ".z, equals: 'null'": "z is null, not “null”",
        ".o, equals: x": "o is an object", ".a.b, equals: 1": "a.b is an array", ".a.c": "the response has no a.c", "'.a.b[2]'": "the response has no a.b[2]",
        ".n.x": "the response has no n.x", "'.a[0]'": "the response has no a[0]", ".": None, "., equals: 1": "the response is an object",
    }

    def answer(method, path, headers):
        found = wrong.get(path, body)
        fields = {"Content_Encoding": "gzip"} if path == "/packed" else {}
        yield response(200, found if isinstance(found, bytes) else found.encode(), **fields)

    with answering(answer) as ((port,), _):
        url = f"http://127.0.0.1:{port}"
        lines = [f"c{number}: {{ http: {{ url: {url}, json: {{ path: {case} }} }} }}" for number, case in enumerate(cases)]
        lines += [f"w{path[1:]}: {{ http: {{ url: {url}{path}, json: {{ path: .n, equals: 3 }} }} }}" for path in wrong]
        with Daemon(once(*lines)) as daemon:
            for number, (case, reason) in enumerate(cases.items()):
                expect(daemon, f"c{number}", "critical" if reason else "ok", reason or "HTTP 200 in ")
                if reason:
                    equal(daemon.text(f"c{number}"), reason, case)
            for path in "text", "half", "empty", "more", "bytes":
                expect(daemon, f"w{path}", "critical")
                equal(daemon.text(f"w{path}"), "the response is not JSON", path)
            expect(daemon, "wpacked", "critical", "the response has the content encoding gzip, which was not requested")
            expect(daemon, "wdeep", "critical", "the response is nested too deeply")
            expect(daemon, "wlarge", "critical", "the response is larger than 1024 KiB")
            expect(daemon, "wtwice", "ok", "HTTP 200 in ")


@test("http: matches is a regular expression whose cost is bounded; json, matches and contains must all hold")
def expressions():
    bodies = {"/": 'queue: 17\nstate: "ready"\n', "/bytes": b"\xff\xfe ready \xc3", "/slow": "a" * 40_000, "/long": "x" * (1 << 20) + "ready"}

    def answer(method, path, headers):
        body = bodies[path]
        yield response(200, body if isinstance(body, bytes) else body.encode())

    cases = {"'queue: [0-9]{1,2}\\n'": True, "'(?m)^state: \"(ready|idle)\"$'": True, "'^state'": False, "'READY'": False, "'(?i)READY'": True, "'queue: \\d{3}'": False}
    with answering(answer) as ((port,), _):
        url = f"http://127.0.0.1:{port}"
        lines = [f"c{number}: {{ http: {{ url: {url}/, matches: {case} }} }}" for number, case in enumerate(cases)]
        lines += [f"bytes: {{ http: {{ url: {url}/bytes, matches: '\\bready\\b' }} }}", f"long: {{ http: {{ url: {url}/long, matches: 'ready' }} }}",
                  f"memory: {{ http: {{ url: {url}/long, matches: '((x)|b)*[cd]' }} }}", f"steps: {{ http: {{ url: {url}/slow, matches: 'a.*a.*a.*[bc]' }} }}",
                  f"all: {{ http: {{ url: {url}/, contains: queue, matches: 'state: .ready', json: .x }} }}",
                  f"text: {{ http: {{ url: {url}/, contains: steady, matches: 'state' }} }}"]
        with Daemon(once(*lines)) as daemon:
            for number, (case, holds) in enumerate(cases.items()):
                expect(daemon, f"c{number}", "ok" if holds else "critical", "HTTP 200 in " if holds else f"“{case[1:-1]}” does not match the response")
            expect(daemon, "bytes", "ok", "HTTP 200")
            expect(daemon, "long", "critical", "“ready” does not match the first 1024 KiB of the response")
            expect(daemon, "all", "critical", "the response is not JSON")
            expect(daemon, "text", "critical", "expected “steady”, not found in the response")
            equal(failed(daemon, "memory"), "the regular expression of “matches” needs too much memory; make it simpler")
            equal(failed(daemon, "steps"), "the regular expression of “matches” takes more than 1 s of processor time; make it simpler")


@test("http: a body makes the method POST, is sent again after a 307 but not after a 302, and has only the type that headers name")
def request_body():
    def redirect(code):
        def answer(connection):
            with connection:
                received = b""
                while b"x=1" not in received:
                    received += connection.recv(65536)
                connection.sendall(response(code, Location=f"http://127.0.0.1:{server.port}/{code}"))

        return listener(answer)

    with web() as server, redirect(307) as again, redirect(302) as other:
        url = f"http://127.0.0.1:{server.port}"
        with Daemon(once(f"again: {{ http: {{ url: 'http://127.0.0.1:{again}/', body: 'x=1' }} }}", f"other: {{ http: {{ url: 'http://127.0.0.1:{other}/', body: 'x=1' }} }}",
                         f"post: {{ http: {{ url: {url}/, body: '{{\"a\": 1}}', headers: {{ Content-Type: application/json }} }} }}",
                         f"options: {{ http: {{ url: {url}/, method: OPTIONS, body: 'x=1' }} }}")) as daemon:
            for name in "post", "options", "again", "other":
                expect(daemon, name, "ok", "HTTP 200 in ")
        sent = {(method, path): (body, headers.get("Content-Type"), headers.get("Content-Length"))
                for (method, path, headers), body in zip(server.requests, server.bodies)}
        equal(sent, {("POST", "/"): ('{"a": 1}', "application/json", "8"), ("OPTIONS", "/"): ("x=1", None, "3"),
                     ("POST", "/307"): ("x=1", None, "3"), ("GET", "/302"): ("", None, None)})


@test("http: a credential of the service is sent as a header field to the same host only, and shown nowhere")
def credentials():
    with web() as other, web() as server, tempfile.TemporaryDirectory() as folder:
        credentials = pathlib.Path(folder)
        (credentials / "api").write_text(SECRET + "\n")
        (credentials / "two").write_text("a\nb\n")
        (credentials / "empty").write_text("\n")
        url = f"http://localhost:{server.port}"

        def line(name, path, credential="api"):
            return f"{name}: {{ http: {{ url: {url}{path}, headers: {{ Authorization: {{ credential: {credential} }}, X-Key: {{ credential: {credential} }}, X-Plain: open }} }} }}"

        lines = [line("near", "/redirect/1"), line("far", f"/http/{other.port}"), line("wrong", "/status/500"), line("gone", "/", "none"), line("two", "/", "two"), line("empty", "/", "empty")]
        with Daemon(once(*lines), prefix=("env", f"CREDENTIALS_DIRECTORY={folder}")) as daemon:
            expect(daemon, "near", "ok", "HTTP 200")
            expect(daemon, "far", "ok", "HTTP 200")
            expect(daemon, "wrong", "critical", "expected 200-299, got 500")
            equal(failed(daemon, "gone"), "no credential “none”; add LoadCredential=none:/path by “systemctl edit statusd”, and restart it")
            for name in "two", "empty":
                equal(failed(daemon, name), f"the credential “{name}” must be one line of text, of at most 16 KiB")
            shown = daemon.log() + "".join(daemon.ctl(*command).out for command in (
                ("list", "--json"), ("status", "wrong", "--json"), ("status", "far"), ("history", "--json"), ("verify", daemon.file)))
            for process in (daemon.process.pid, *daemon.children("statusd-http")):
                for file in "cmdline", "environ":
                    shown += pathlib.Path(f"/proc/{process}/{file}").read_text(errors="replace")
            assert SECRET not in shown and "7bf1c0ffee" not in shown
        names = ("Authorization", "X-Key", "X-Plain")
        for method, path, headers in server.requests:
            equal([headers.get(name) for name in names], [SECRET, SECRET, "open"], path)
        equal([[headers.get(name) for name in names] for *_, headers in other.requests], [[None, None, "open"]])
        equal(sorted(path for _, path, _ in server.requests), ["/", f"/http/{other.port}", "/redirect/1", "/status/500"])


@contextlib.contextmanager
def proxy(refuses=False):
    """A proxy for HTTP, CONNECT and SOCKS 5 that connects to this host only; yields its port and the requests."""
    asked = []

    def relay(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def join(client, port, first=b""):
        with socket.create_connection(("127.0.0.1", port)) as server:
            server.sendall(first)
            thread = threading.Thread(target=relay, args=(client, server), daemon=True)
            thread.start()
            relay(server, client)

    def serve(client):
        with client, contextlib.suppress(OSError):
            data = client.recv(65536)
            if data[:1] == b"\x05":
                client.sendall(b"\x05\x00")
                data = client.recv(65536)
                length = data[4] if data[3] == 3 else 3
                asked.append(("SOCKS", data[5:5 + length].decode("latin-1")))
                client.sendall(b"\x05\x00\x00\x01\0\0\0\0\0\0" if not refuses else b"\x05\x02\x00\x01\0\0\0\0\0\0")
                return None if refuses else join(client, int.from_bytes(data[-2:], "big"))
            method, target, *_ = data.decode("latin-1").split()
            asked.append((method, target, "Proxy-Authorization: Basic dTpwdw==" in data.decode("latin-1"), "X-Key" in data.decode("latin-1")))
            if refuses:
                return client.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
            port = int(target.rstrip("/").rsplit(":", 1)[1].split("/")[0])
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")
                return join(client, port)
            return join(client, port, data.replace(f"{method} {target}".encode(), f"{method} /".encode(), 1))

    with listener(serve) as port:
        yield port, asked


@test("http: requests go through an HTTP or SOCKS proxy if one is configured, and its password is not shown")
def proxies():
    with Certificates() as authority, web() as plain, web(authority.make("good", first_day=-40, last_day=30)) as secure, proxy() as (port, asked), \
            proxy(refuses=True) as (refusing, _):
        target, secret = f"http://localhost:{plain.port}/", f"https://localhost:{secure.port}/"
        lines = [f"http: {{ http: {{ url: '{target}', proxy: 'http://u:pw@127.0.0.1:{port}' }} }}",
                 f"connect: {{ http: {{ url: '{secret}', ca: {authority.ca}, headers: {{ X-Key: a }}, proxy: 'http://u:pw@127.0.0.1:{port}' }} }}",
                 f"socks: {{ http: {{ url: '{target}', proxy: 'socks5h://127.0.0.1:{port}' }} }}",
                 f"strange: {{ http: {{ url: '{secret}', proxy: 'http://127.0.0.1:{port}' }} }}",
                 f"refused: {{ http: {{ url: '{secret}', proxy: 'http://u:pw@127.0.0.1:{refusing}' }} }}",
                 f"refused-socks: {{ http: {{ url: '{secret}', proxy: 'socks5h://u:pw@127.0.0.1:{refusing}' }} }}",
                 f"gone: {{ http: {{ url: '{target}', proxy: 'http://u:pw@127.0.0.1:{refused_port()}' }} }}",
                 "nowhere: { http: { url: 'http://localhost/', proxy: 'http://u:pw@no-such-host.invalid:3128' } }"]
        with Daemon(once(*lines), prefix=("env", "no_proxy=*", "http_proxy=http://127.0.0.1:9")) as daemon:
            for name in "http", "connect", "socks":
                expect(daemon, name, "ok", "HTTP 200 in ")
            expect(daemon, "strange", "critical", "certificate is not trusted")
            for name in "refused", "refused-socks", "gone", "nowhere":
                expect(daemon, name, "critical")
            equal(daemon.text("refused"), "proxy: CONNECT tunnel failed, response 403")
            contains(daemon.text("refused-socks"), "proxy: can't complete SOCKS5 connection")
            equal(daemon.text("gone"), "cannot connect to the proxy: connection refused")
            contains(daemon.text("nowhere"), "could not resolve proxy: no-such-host.invalid")
            assert "pw" not in daemon.log() + daemon.ctl("list", "--json").out + daemon.ctl("list").out
        kinds = [(request[0], request[1]) for request in asked]
        assert ("GET", target) in kinds and ("CONNECT", f"localhost:{secure.port}") in kinds and ("SOCKS", "localhost") in kinds, kinds
        equal([request[2:] for request in asked if request[0] == "GET"], [(True, False)])
        equal({request[3] for request in asked if request[0] == "CONNECT"}, {False}, "a field of the request in a CONNECT")
