# SPDX-License-Identifier: Apache-2.0
"""tcp and http: against servers that work, are missing, or misbehave."""

import contextlib
import gzip
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

from harness.daemon import STATUSD, Daemon, run
from harness.expect import Skip, contains, equal, eventually, one_sentence
from harness.names import name_server
from harness.runner import test
from harness.servers import Certificates, Gigabyte, listener, refused_port, web


def once(*servers):
    """A configuration whose checks run at the start, and then on request."""
    return "defaults: { interval: 1h, timeout: 5s }\nservers:\n" + "".join(f"  {server}\n" for server in servers)


def expect(daemon, name, level, *parts):
    """Waits for the level, then checks the text."""
    daemon.done("wait", name, "--level", level, "--timeout", "15s")
    contains(daemon.text(name), *parts)


@test("tcp: a connection over IPv4, IPv6 or by name is ok with its latency; a port without a listener is refused")
def tcp():
    with listener() as four, listener(address="::1") as six:
        with Daemon(once(f"four: {{ tcp: '127.0.0.1:{four}' }}", f"six: {{ tcp: '[::1]:{six}' }}",
                         f"name: {{ tcp: 'localhost:{four}' }}", f"gone: {{ tcp: '127.0.0.1:{refused_port()}' }}",
                         "nowhere: { tcp: 'no-such-host.invalid:80' }")) as daemon:
            for name in ("four", "six", "name"):
                expect(daemon, name, "ok", "connected in ", "ms")
            expect(daemon, "gone", "critical", "connection refused")
            expect(daemon, "nowhere", "critical", "no-such-host.invalid")
            # Without any resolver, the reason is unknown.
            reason = daemon.text("nowhere")
            assert reason in ("host not found: no-such-host.invalid",
                              "cannot look up host no-such-host.invalid: Temporary failure in name resolution"), reason


@test("tcp: a name server that does not answer over TCP is critical, and delays no check once it is well again")
def hanging_lookups():
    if os.geteuid() != 0:
        raise Skip("needs root, for a resolv.conf of its own, and port 53")
    is_well = threading.Event()

    def answer(question, protocol):
        if is_well.is_set():
            return question.answer("127.0.0.1") if question.type == "A" else question.reply()
        return question.reply(flags=0x8380) if protocol == "udp" else None

    hosts = [f"host{number}.test" for number in range(20)]
    with tempfile.TemporaryDirectory() as folder, listener() as port, \
            name_server({host: answer for host in [*hosts, "later.test"]}, "127.0.0.89", 53):
        for file, text in (("resolv.conf", "nameserver 127.0.0.89\n"), ("nsswitch.conf", "hosts: files dns\n")):
            pathlib.Path(folder, file).write_text(text)
        mounts = "".join(f"mount --bind {folder}/{file} /etc/{file} && " for file in os.listdir(folder))
        lines = [f"s{number}: {{ tcp: '{host}:{port}', timeout: 1s }}" for number, host in enumerate(hosts)]
        with Daemon(once(*lines), prefix=("unshare", "-m", "--", "sh", "-c", mounts + 'exec "$@"', "sh")) as daemon:
            for number, host in enumerate(hosts):
                expect(daemon, f"s{number}", "critical", f"cannot look up host {host}: no answer within 1s")
            is_well.set()
            daemon.file.write_text(once(*lines, f"later: {{ tcp: 'later.test:{port}', timeout: 5s }}"))
            daemon.done("reload")
            expect(daemon, "later", "ok", "connected")
            for number in range(len(hosts)):
                daemon.done("refresh", f"s{number}")
                expect(daemon, f"s{number}", "ok", "connected")


@test("tcp: a server that accepts and resets at once is ok")
def tcp_reset():
    def reset(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with listener(reset) as port:
        names = [f"s{number}" for number in range(200)]
        with Daemon(once(*(f"{name}: {{ tcp: '127.0.0.1:{port}' }}" for name in names))) as daemon:
            for name in names:
                expect(daemon, name, "ok", "connected in ")


@test("tcp: a server that speaks first sees the connection end, and no reset, for which MySQL would block this host in the end")
def tcp_speaks_first():
    ends = []

    def greet(connection):
        with contextlib.closing(connection):
            try:
                connection.sendall(b"J\0\0\0\n8.0.36-greeting\0" * 100)
                end = connection.recv(1)
                # After a reset, nothing can be sent.
                for _ in range(2):
                    connection.sendall(b"bye")
                ends.append(end)
            except ConnectionError as error:
                ends.append(error)

    def is_orderly():
        daemon.done("refresh", "db")
        return b"" in ends

    with listener(greet) as port, Daemon(once(f"db: {{ tcp: '127.0.0.1:{port}' }}")) as daemon:
        expect(daemon, "db", "ok", "connected in ")
        # A server that is slower than the check waits gets a reset, so one end of several counts.
        eventually(is_orderly, "an orderly end")


@test("tcp: a server that does not answer is critical when it has timed out")
def tcp_silent():
    # The backlog of a listener that never accepts is full: the kernel drops further connections.
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(server.getsockname())
        with Daemon(once(f"full: {{ tcp: '127.0.0.1:{server.getsockname()[1]}', timeout: 300ms }}")) as daemon:
            expect(daemon, "full", "critical", "no answer within 300ms")


def in_small_network(taken=(), has_ipv6=True):
    """The prefix of a command that runs it in a network with only four local ports, which sockets of these kinds occupy.

    In it, the hosts both.test and four.test have two addresses, one of which is unreachable.
    """
    if os.getuid() != 0:
        raise Skip("needs root, for a network of its own")
    program = ("import fcntl, os, socket, struct, subprocess, sys, tempfile\n"
               "s = socket.socket()\n"
               "fcntl.ioctl(s, 0x8914, struct.pack('16sh14s', b'lo', 0x41, b''))\n"  # SIOCSIFFLAGS: up and running
               "open('/proc/sys/net/ipv4/ip_local_port_range', 'w').write('40000 40003')\n"
               f"open('/proc/sys/net/ipv6/conf/all/disable_ipv6', 'w').write('{int(not has_ipv6)}')\n"
               "s.close()\n"
               "with tempfile.NamedTemporaryFile('w') as hosts:\n"
               "    hosts.write('127.0.0.1 both.test\\n2001:db8::1 both.test\\n')\n"
               "    hosts.write('192.0.2.1 four.test\\n127.0.0.1 four.test\\n')\n"
               "    hosts.flush()\n"
               "    subprocess.run(['mount', '--bind', hosts.name, '/etc/hosts'], check=True)\n"
               "for port in range(40000, 40004):\n"
               f"    for kind in {[int(kind) for kind in taken]}:\n"
               "        s = socket.socket(type=kind)\n"
               "        s.bind(('0.0.0.0', port))\n"
               "        os.set_inheritable(s.detach(), True)\n"
               "os.execv(sys.argv[1], sys.argv[1:])\n")
    return "unshare", "-nm", "--", sys.executable, "-c", program


def of_host(host):
    """A tcp: and an http: server at a port of this host without a listener."""
    return once(f"cache: {{ tcp: '{host}:9' }}", f"web: {{ http: 'http://{host}:9/' }}")


@test("tcp and http: without a free local port, the load fails, even if one address is unreachable")
def no_ports():
    for host, taken in (("127.0.0.1", (socket.SOCK_STREAM, socket.SOCK_DGRAM)), ("both.test", (socket.SOCK_STREAM,))):
        with Daemon(of_host(host), prefix=in_small_network(taken, has_ipv6=False)) as daemon:
            for server in "cache", "web":
                state = eventually(lambda: (state := daemon.describe(server))["phase"] == "failed" and state, f"{server} of {host} is failed")
                equal(state.get("status"), None)
                contains(state["message"].lower(), "cannot assign requested address")


@test("tcp and http: an unreachable server is critical, although errno is that of missing local ports")
def no_address():
    for host in "[::1]", "both.test":
        with Daemon(of_host(host), prefix=in_small_network(has_ipv6=False)) as daemon:
            for server in "cache", "web":
                expect(daemon, server, "critical", "cannot assign requested address" if host == "[::1]" else "")


@test("tcp: a port without a listener is refused, even if the kernel gives the check that very port")
def self_connect():
    with Daemon(once("gone: { tcp: '127.0.0.1:40002' }"), prefix=in_small_network()) as daemon:
        expect(daemon, "gone", "critical", "connection refused")
        with daemon.connect() as connection:
            for _ in range(100):
                status = connection.call("Refresh", {"server": "gone"})["event"]["server"]["status"]
                equal(status["text"], "connection refused")


@test("tcp: as many failures in a row count as configured; until then they are shown next to the status")
def hysteresis():
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(listener())
        with Daemon(once(f"cache: {{ tcp: '127.0.0.1:{port}', failures: 3 }}")) as daemon:
            expect(daemon, "cache", "ok", "connected")
            stack.close()
            for count in (1, 2):
                contains(daemon.done("refresh", "cache"), "[ok] (connection refused [critical]; %d of 3 before it counts)" % count)
                equal(daemon.ctl("status", "cache").status, 0)
            contains(daemon.done("refresh", "cache"), "cache: connection refused [critical]")
            equal(daemon.ctl("status", "cache").status, 3)


@test("http: status, text, method, headers and redirects are checked, and differences reported")
def http():
    with web() as server, web(address="::1") as six:
        url = f"http://127.0.0.1:{server.port}"
        with Daemon(once(
                f"plain: {{ http: {url}/ }}", f"six: {{ http: 'http://[::1]:{six.port}/' }}",
                f"text: {{ http: {{ url: {url}/, contains: ready }} }}",
                f"other: {{ http: {{ url: {url}/, contains: steady }} }}",
                f"wrong: {{ http: {{ url: {url}/status/503, status: 200 }} }}",
                f"right: {{ http: {{ url: {url}/status/404, status: [200, 400-410] }} }}",
                f"post: {{ http: {{ url: {url}/, method: POST, contains: 'POST /', headers: {{ X-Key: abc, X-Empty: '' }} }} }}",
                f"head: {{ http: {{ url: {url}/, method: HEAD }} }}",
                f"moved: {{ http: {{ url: {url}/redirect/3, contains: 'GET /' }} }}",
                f"stays: {{ http: {{ url: {url}/redirect/1, redirects: 0, status: 302 }} }}",
                f"loop: {{ http: {{ url: {url}/loop, redirects: 4 }} }}")) as daemon:
            for name in ("plain", "six", "text", "post", "head", "moved"):
                expect(daemon, name, "ok", "HTTP 200 in ")
            expect(daemon, "right", "ok", "HTTP 404 in ")
            expect(daemon, "stays", "ok", "HTTP 302 in ")
            expect(daemon, "other", "critical", "expected “steady”, not found in the response")
            expect(daemon, "wrong", "critical", "expected 200, got 503")
            expect(daemon, "loop", "critical", "too many redirects (4)")
            headers = next(headers for method, _, headers in server.requests if method == "POST")
            equal((headers.get("X-Key"), headers.get("X-Empty")), ("abc", ""))
            contains(headers.get("User-Agent"), "statusd/")


@test("http: a redirect to another host gets the configured headers, but neither Authorization nor Cookie")
def secrets():
    with web() as other, web() as server:
        headers = "{ Authorization: Bearer secret, Cookie: secret, X-Key: abc }"
        with Daemon(once(f"web: {{ http: {{ url: 'http://localhost:{server.port}/http/{other.port}', headers: {headers} }} }}")) as daemon:
            expect(daemon, "web", "ok", "HTTP 200 in ")
        wanted = ("Authorization", "Cookie", "X-Key")
        equal([server.requests[0][2].get(name) for name in wanted], ["Bearer secret", "secret", "abc"])
        equal([other.requests[0][2].get(name) for name in wanted], [None, None, "abc"])


@test("http: certificates are verified, and their errors reported")
def certificates():
    with Certificates() as authority, contextlib.ExitStack() as stack:
        servers = {
            "good": stack.enter_context(web(authority.make("good"))),
            "expired": stack.enter_context(web(authority.make("expired", first_day=-30, last_day=-3))),
            "early": stack.enter_context(web(authority.make("early", first_day=2))),
            "wrong": stack.enter_context(web(authority.make("wrong", names="DNS:other.example"))),
            "self": stack.enter_context(web(authority.self_signed("self", "localhost"))),
        }
        lines = [f"{name}: {{ http: {{ url: 'https://localhost:{server.port}/', contains: ready, ca: {authority.ca} }} }}"
                 for name, server in servers.items()]
        lines.append(f"strange: {{ http: 'https://localhost:{servers['good'].port}/' }}")
        lines.append(f"missing: {{ http: {{ url: 'https://localhost:{servers['good'].port}/', ca: /nonexistent.pem }} }}")
        lines.append(f"key: {{ http: {{ url: 'https://localhost:{servers['good'].port}/', ca: {authority.ca.replace('.pem', '.key')} }} }}")
        # Opening it would block until there is a writer.
        pipe = os.path.join(os.path.dirname(authority.ca), "pipe.pem")
        os.mkfifo(pipe)
        lines.append(f"pipe: {{ http: {{ url: 'https://localhost:{servers['good'].port}/', ca: {pipe} }} }}")
        with Daemon(once(*lines)) as daemon:
            for name, file, reason in (("pipe", pipe, "not a regular file"), ("missing", "/nonexistent.pem", "no such file or directory"),
                                       ("key", authority.ca.replace(".pem", ".key"), "no certificate in the file")):
                server = eventually(lambda: (each := daemon.describe(name))["phase"] == "failed" and each, f"{name} has failed")
                equal((server["message"], server.get("status")), (f"cannot read certificates from {file}: {reason}", None))
            expect(daemon, "good", "ok", "HTTP 200 in ")
            expect(daemon, "expired", "critical", f"certificate expired {time.strftime('%Y-%m-%d', time.gmtime(time.time() - 73 * 3600))} ")
            expect(daemon, "early", "critical", "certificate is not yet valid")
            expect(daemon, "wrong", "critical", "certificate is for other.example, not for localhost")
            expect(daemon, "self", "critical", "certificate is self-signed")
            expect(daemon, "strange", "critical", "certificate is not trusted")


@test("http: a key exchange of a size that the server chooses is refused, because it may take seconds")
def key_exchange():
    with Certificates() as authority:
        parameters = authority.folder / "dh.pem"
        subprocess.run(["openssl", "dhparam", "-dsaparam", "-out", parameters, "2048"], capture_output=True, check=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.make("good"))
        context.load_dh_params(str(parameters))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0")

        def shake_hands(connection):
            with contextlib.suppress(OSError):
                context.wrap_socket(connection, server_side=True)

        with listener(shake_hands) as port:
            with Daemon(once(f"web: {{ http: {{ url: 'https://localhost:{port}/', ca: {authority.ca} }} }}")) as daemon:
                expect(daemon, "web", "critical", "TLS handshake failed")


@test("http: a connection closed without, or within, a response is reported in the same words over TLS")
def closed_connection():
    answers = {"nothing": b"", "short": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "status": b"HTTP/1.1 200 OK\r\n",
               "header": b"HTTP/1.1 200 OK\r\nContent-Le", "second": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
               "small": b"HTTP/1.1 100 Continue\r\n\r\nhttp/1.1 200 OK\r\nX: y\r\n"}
    trailed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nHTTP/x: y\r\n\r\n"
    with Certificates() as authority, contextlib.ExitStack() as stack:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.make("good"))

        def closing(answer):
            def close_early(connection):
                with context.wrap_socket(connection, server_side=True) as secure:
                    secure.recv(4096)
                    secure.sendall(answer)

            return stack.enter_context(listener(close_early))

        lines = [f"{name}: {{ http: {{ url: 'https://localhost:{closing(answer)}/', ca: {authority.ca}, contains: ready }} }}"
                 for name, answer in answers.items()]
        lines.append(f"trailed: {{ http: {{ url: 'https://localhost:{closing(trailed)}/', ca: {authority.ca}, contains: ok }} }}")
        with Daemon(once(*lines)) as daemon:
            expect(daemon, "trailed", "ok", "200")
            expect(daemon, "nothing", "critical", "connection closed without a response")
            for name in list(answers)[1:]:
                expect(daemon, name, "critical", "connection closed before the end of the response")


@test("http: a replaced file of authorities takes effect with the next refresh")
def replaced_authorities():
    with Certificates() as authority, Certificates() as other, web(authority.make("good")) as server:
        trusted = authority.folder / "trusted.pem"

        def trust(path):
            new = authority.folder / "new.pem"
            shutil.copy(path, new)
            new.rename(trusted)

        trust(other.ca)
        url = f"https://localhost:{server.port}/"
        with Daemon(once(f"web: {{ http: {{ url: '{url}', ca: {trusted} }} }}", f"strange: {{ http: '{url}' }}")) as daemon:
            expect(daemon, "web", "critical", "certificate is")
            for _ in range(3):
                trust(authority.ca)
                contains(daemon.done("refresh", "web"), "HTTP 200")
                trust(other.ca)
                contains(daemon.ctl("refresh", "web").out, "certificate is", "[critical]")


@test("http: slow redirects time out at the deadline, not with the next data")
def slow_redirection():
    left = []

    def hop(connection):
        with connection:
            connection.recv(10000)
            time.sleep(0.7)
            try:
                left.append(connection.recv(1, socket.MSG_DONTWAIT) == b"")
            except BlockingIOError:
                left.append(False)
            with contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def serve(connection):
        threading.Thread(target=hop, args=[connection], daemon=True).start()

    with listener(serve) as port, Daemon(once(f"site: {{ http: 'http://127.0.0.1:{port}/', timeout: 1s }}")) as daemon:
        expect(daemon, "site", "critical", "no answer within 1s")
        eventually(lambda: len(left) == 2, "the second hop")
        equal(left, [False, True], "whether the client had left, at each hop")


@test("http: nothing leads from https to http")
def downgrade():
    with Certificates() as authority, web(authority.make("good")) as server, web() as plain:
        with Daemon(once(f"site: {{ http: {{ url: 'https://localhost:{server.port}/http/{plain.port}', ca: {authority.ca} }} }}")) as daemon:
            expect(daemon, "site", "critical", "redirected from https to http")
            equal(plain.requests, [])


@test("http: a redirect to an invalid URL, or to another scheme, is reported as such")
def strange_redirection():
    def redirect(address):
        def answer(connection):
            with connection:
                connection.recv(4096)
                connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {address}\r\nContent-Length: 0\r\n\r\n".encode())

        return listener(answer)

    with redirect("ftp://127.0.0.1/") as other, redirect("http://[zz]/") as wrong:
        with Daemon(once(f"other: {{ http: 'http://127.0.0.1:{other}/' }}", f"wrong: {{ http: 'http://127.0.0.1:{wrong}/' }}")) as daemon:
            expect(daemon, "other", "critical", "redirected to a URL that is neither http nor https")
            expect(daemon, "wrong", "critical", "redirected to an invalid URL")


@contextlib.contextmanager
def answering(status, address):
    """A server that answers each request with this status and location."""
    def answer(connection):
        with connection:
            connection.recv(4096)
            connection.sendall(f"HTTP/1.1 {status} X\r\nLocation: {address}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody".encode())

    with listener(answer) as port:
        yield f"http://127.0.0.1:{port}/"


@test("http: after a redirect, the reason of a failure says where it led, without credentials and queries")
def redirect_target():
    with Certificates() as authority, web(authority.self_signed("own", "localhost")) as secure, web() as plain:
        targets = {"refused": f"http://127.0.0.1:{refused_port()}/a", "secure": f"https://localhost:{secure.port}/", "missing": f"http://user:secret@127.0.0.1:{plain.port}/status/404/?token=secret#x"}
        reasons = {"refused": f"after a redirect to {targets['refused']}: connection refused", "secure": f"after a redirect to {targets['secure']}: certificate is self-signed",
                   "missing": f"after a redirect to http://127.0.0.1:{plain.port}/status/404/: expected 200-299, got 404"}
        with contextlib.ExitStack() as stack:
            urls = {name: stack.enter_context(answering(302, target)) for name, target in targets.items()}
            with Daemon(once(*(f"{name}: {{ http: '{url}' }}" for name, url in urls.items()), f"direct: {{ http: 'http://127.0.0.1:{plain.port}/status/404' }}")) as daemon:
                for name, reason in reasons.items():
                    expect(daemon, name, "critical", reason)
                    assert "secret" not in daemon.ctl("status", name, "--json").out, name
                expect(daemon, "direct", "critical", "expected 200-299, got 404")
                assert "redirect" not in daemon.ctl("status", "direct").out


@test("http: only 301, 302, 303, 307 and 308 are followed; other statuses with a location are responses")
def followed():
    statuses = {300: False, 301: True, 302: True, 303: True, 304: False, 305: False, 306: False, 307: True, 308: True, 399: False}
    with web() as target, contextlib.ExitStack() as stack:
        servers = []
        for status in statuses:
            url = stack.enter_context(answering(status, f"http://127.0.0.1:{target.port}/"))
            first = stack.enter_context(answering(302, url))
            servers += [f"own{status}: {{ http: {{ url: '{url}', status: {status} }} }}", f"last{status}: {{ http: {{ url: '{first}', status: {status} }} }}", f"any{status}: {{ http: '{url}' }}"]
        with Daemon(once(*servers)) as daemon:
            for status, follows in statuses.items():
                for kind in "own", "last":
                    expect(daemon, f"{kind}{status}", *(("critical", f"expected {status}, got 200") if follows else ("ok", f"HTTP {status}")))
                expect(daemon, f"any{status}", *(("ok", "HTTP 200") if follows else ("critical", f"expected 200-299, got {status}")))


@test("http: an endless header is reported as such, in the same words each time")
def endless_header():
    def answer(connection):
        with connection:
            connection.recv(4096)
            try:
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                for number in range(100000):
                    connection.sendall(b"X-%d: %s\r\n" % (number, b"x" * 1000))
            except OSError:
                pass

    with listener(answer) as port:
        with Daemon(once(f"big: {{ http: 'http://127.0.0.1:{port}/' }}")) as daemon:
            expect(daemon, "big", "critical", "the response header is too large")


@test("http: a server that does not answer, refuses, or does not speak HTTP is reported as such")
def misbehaving():
    def stall(connection):
        connection.recv(10000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nready")
        time.sleep(2)

    with listener() as silent, listener(stall) as stalling, listener(lambda connection: connection.sendall(b"220 mail.example ESMTP\r\n")) as mail:
        with Daemon(once(f"silent: {{ http: 'http://127.0.0.1:{silent}/', timeout: 300ms }}",
                         f"tls: {{ http: 'https://127.0.0.1:{silent}/', timeout: 300ms }}",
                         f"mail: {{ http: 'http://127.0.0.1:{mail}/' }}",
                         f"plain: {{ http: 'https://127.0.0.1:{mail}/' }}",
                         f"half: {{ http: {{ url: 'http://127.0.0.1:{stalling}/', contains: steady }}, timeout: 300ms }}",
                         f"gone: {{ http: 'http://127.0.0.1:{refused_port()}/' }}")) as daemon:
            expect(daemon, "silent", "critical", "no answer within 300ms")
            expect(daemon, "tls", "critical", "no answer within 300ms")
            expect(daemon, "mail", "critical", "the response is not HTTP")
            expect(daemon, "half", "critical", "the response was not complete within 300ms")
            expect(daemon, "plain", "critical", "TLS handshake failed: the server does not speak TLS at this port")
            expect(daemon, "gone", "critical", "connection refused")


@test("http: a gigabyte is not read to its end, and costs no memory")
def gigabyte():
    sender = Gigabyte()
    with listener(sender) as port:
        with Daemon(once(f"big: {{ http: 'http://127.0.0.1:{port}/' }}",
                         f"text: {{ http: {{ url: 'http://127.0.0.1:{port}/', contains: ready }} }}")) as daemon:
            expect(daemon, "big", "ok", "HTTP 200 in ")
            expect(daemon, "text", "critical", "expected “ready”, not found in the first 1024 KiB of the response")
            before = daemon.resident()
            for _ in range(20):
                daemon.done("refresh", "big")
            assert daemon.resident() < before + 16 * 1024, f"{before} KiB grew to {daemon.resident()} KiB"
            assert sender.sent < 22 * 64 << 20, f"{sender.sent} bytes were taken"


@test("at most as many checks as the limit run at the same time, and each gets its turn")
def bounded():
    lock, counts = threading.Lock(), {"now": 0, "most": 0}

    def answer(connection):
        with connection:
            with lock:
                counts["now"] += 1
                counts["most"] = max(counts["most"], counts["now"])
            connection.recv(4096)
            time.sleep(0.02)  # as long as a busy server may take
            with lock:
                counts["now"] -= 1
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with listener(answer) as port:
        servers = [f"s{number}: {{ http: 'http://127.0.0.1:{port}/' }}" for number in range(200)]
        with Daemon("limits: { checks: 8 }\n" + once(*servers)) as daemon:
            for number in (0, 99, 199):
                daemon.done("wait", f"s{number}", "--timeout", "15s")
            eventually(lambda: all(server["phase"] == "loaded" for server in daemon.connect().call("List")["servers"]))
    assert 2 <= counts["most"] <= 8, counts


def workers(daemon):
    """The processes that make HTTP requests for a daemon."""
    return daemon.children("statusd-http")


@test("http: a separate process makes requests; only a daemon with http servers has one, and it ends with the daemon")
def own_process():
    with web() as server:
        with Daemon(once("a: { push: true }")) as daemon:
            equal(workers(daemon), [])
            daemon.file.write_text(once(f"a: {{ http: 'http://127.0.0.1:{server.port}/' }}"))
            daemon.done("reload")
            expect(daemon, "a", "ok", "HTTP 200")
            worker, = workers(daemon)
            for process, is_loaded in ((daemon.process.pid, False), (worker, True)):
                with open(f"/proc/{process}/maps", encoding="utf-8") as file:
                    equal("libcurl" in file.read(), is_loaded, f"whether {process} has loaded libcurl")
            os.kill(daemon.process.pid, signal.SIGKILL)
            eventually(lambda: not pathlib.Path(f"/proc/{worker}/maps").exists(), "the end of the worker")


@contextlib.contextmanager
def killing(number):
    """A server that signals the processes of its requests while the list that it yields is not empty; yields its port and requests, too."""
    kill, asked = [], []

    def answer(connection):
        with connection:
            connection.recv(4096)
            asked.append(1)
            if kill:
                kill.pop()
                # Only one waits for this answer; all others wait for requests.
                for each in workers(kill_for[0]):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(each, number)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    kill_for = []
    with listener(answer) as port:
        yield port, kill, asked, kill_for


@test("http: if the process of a request ends, the request is made again")
def lost_worker():
    with killing(signal.SIGKILL) as (port, kill, asked, kill_for):
        with Daemon(f"servers: {{ web: {{ http: 'http://127.0.0.1:{port}/', interval: 1h, timeout: 300ms }} }}\n") as daemon:
            kill_for.append(daemon)
            expect(daemon, "web", "ok", "HTTP 200 in ")
            kill.append(1)
            contains(daemon.done("refresh", "web"), "HTTP 200 in ")
            equal(len(asked), 3, "requests: one before, and one made again")
            contains(daemon.log(), "web: the worker ended during the request")


@test("http: a response that ends its process fails that server, which keeps its last status, and no other")
def deadly_answer():
    with web() as server, killing(signal.SIGSEGV) as (port, kill, asked, kill_for):
        lines = [f"bad: {{ http: 'http://127.0.0.1:{port}/' }}", f"good: {{ http: 'http://127.0.0.1:{server.port}/' }}"]
        with Daemon(once(*lines)) as daemon:
            kill_for.append(daemon)
            expect(daemon, "bad", "ok", "HTTP 200 in ")
            expect(daemon, "good", "ok", "HTTP 200 in ")
            kill.extend((1, 1))
            equal(daemon.ctl("refresh", "bad").status, 1)
            contains(daemon.describe("bad")["message"], "the worker ended during the request; the response may have been too large")
            equal((daemon.describe("bad")["status"]["level"], len(asked)), ("ok", 3), "the last status, and the number of requests")
            contains(daemon.done("refresh", "good"), "HTTP 200 in ")
            contains(daemon.done("refresh", "bad"), "HTTP 200 in ")


@test("http: a response that takes much processor time is critical, and requested once", limit=120)
def busy_answer():
    asked = []

    def answer(connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(4096)
            asked.append(1)
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
            while True:
                connection.sendall(b"a" * (1 << 20))

    with listener(answer) as port:
        web = f"{{ url: 'http://127.0.0.1:{port}/', contains: b }}"
        with Daemon(f"servers: {{ web: {{ http: {web}, interval: 1h, timeout: 80s }} }}\n") as daemon:
            daemon.done("wait", "web", "--level", "critical", "--timeout", "90s", timeout=100)
            equal(daemon.text("web"), "reading the response takes more than 5 s of processor time")
            equal(len(asked), 1, "requests")


@test("http: a transfer encoding that was not requested is not decoded")
def transfer_encoding():
    for encoding in (b"gzip, chunked", b"chunked" + b" " * 300 + b", gzip"):
        def answer(connection, encoding=encoding):
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\nConnection: close\r\n\r\n" % encoding + gzip.compress(b"x" * 1000))

        with listener(answer) as port:
            with Daemon(once(f"web: {{ http: 'http://127.0.0.1:{port}/' }}")) as daemon:
                expect(daemon, "web", "critical", "the response has a transfer encoding that was not requested")


@test("http: a process that does not start in time is killed; one with a running request ends with the daemon")
def hanging_start():
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        # Opening it blocks until there is a writer.
        os.mkfifo(folder / "libcurl.so.4")
        with Daemon("servers: { web: { http: 'http://127.0.0.1:9/', timeout: 300ms, interval: 1h } }\n",
                    prefix=("env", f"LD_LIBRARY_PATH={folder}")) as daemon:
            eventually(lambda: len(workers(daemon)) == 1, "a process that starts")
            server = eventually(lambda: (each := daemon.describe("web"))["phase"] == "failed" and each, "a failed server")
            contains(server["message"], "cannot make HTTP requests: the worker does not answer")
            eventually(lambda: not workers(daemon), "the end of the process")
    finally:
        shutil.rmtree(folder)

    with listener(lambda connection: connection.recv(4096) and connection.recv(4096)) as port:
        with Daemon(f"servers: {{ web: {{ http: 'http://127.0.0.1:{port}/', timeout: 1h }} }}\n") as daemon:
            worker, = eventually(lambda: workers(daemon))
            os.kill(daemon.process.pid, signal.SIGKILL)
            eventually(lambda: not pathlib.Path(f"/proc/{worker}/maps").exists(), "the end of the worker")


@test("http: sixty concurrent requests to a host name are all answered")
def many_names():
    with web() as server:
        # Each is looked up by a thread of its own, if libcurl does it.
        names = [f"n{number}: {{ http: 'http://localhost:{server.port}/' }}" for number in range(60)]
        with Daemon("limits: { checks: 100, requests: 100 }\n" + once(*names)) as daemon:
            for number in range(60):
                expect(daemon, f"n{number}", "ok", "HTTP 200 in ")


@test("http: without libcurl a server fails, and says what to install; verify and a reload warn once, with the names")
def no_libcurl():
    folder = pathlib.Path(tempfile.mkdtemp())
    twenty = once(*(f"w{number:02}: {{ http: 'http://127.0.0.1:9/' }}" for number in range(20)))
    with Daemon(twenty) as daemon:
        for command in ("verify", daemon.file), ("reload",):
            equal(daemon.ctl(*command).err, "", "warnings with libcurl")
    try:
        (folder / "libcurl.so.4").write_text("no library")
        with Daemon(once("web: { http: 'http://127.0.0.1:9/' }"), prefix=("env", f"LD_LIBRARY_PATH={folder}")) as daemon:
            server = eventually(lambda: (each := daemon.describe("web"))["phase"] == "failed" and each, "a failed server")
            contains(server["message"], "cannot make HTTP requests: cannot load libcurl: ", "; install the package libcurl4")
            daemon.file.write_text(once("web: { http: 'http://127.0.0.1:9/' }", "shop: { certificate: '127.0.0.1:9' }"))
            contains(daemon.ctl("reload").err, "warning: ", "shop and 1 more cannot be checked: cannot load libcurl: ", "install the package libcurl4")
    finally:
        shutil.rmtree(folder)


@test("neither clients nor notify sockets can take the descriptors that checks need")
def few_descriptors():
    def server(name):
        return asker.call("Describe", {"server": name})["server"]

    def crowd():
        return [client for client in (connect_quietly(daemon) for _ in range(120)) if client]

    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))}
    notify = ", ".join(f"n{number:02}: {{ notify: true }}" for number in range(40))
    check = "disk: { exec: [/bin/true], interval: 100ms }"
    with Daemon(f"servers: {{ {check}, {notify} }}\n", **few) as daemon, daemon.connect() as asker:
        contains(server("n39")["message"], "raise LimitNOFILE=")
        daemon.done("wait", "disk")
        clients = crowd()
        seen = set()
        while len(seen) < 10:
            equal(server("disk")["phase"], "loaded")
            seen.add(server("disk")["status"]["updatedAt"])
        for client in clients:
            client.close()


@test("with too few descriptors, the daemon does not start and says what to raise")
def hardly_any_descriptors():
    for limit in (8, 12, 16, 24, 127):
        with Daemon(start=False) as daemon:
            result = run(STATUSD, env=daemon.environment,
                         preexec_fn=lambda most=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            contains(one_sentence(result, 1), "LimitNOFILE=", str(limit))


def connect_quietly(daemon):
    """A client that sends nothing; None if there is no room for it."""
    client = socket.socket(socket.AF_UNIX)
    try:
        client.setblocking(False)
        client.connect(daemon.socket)
        return client
    except OSError:
        client.close()
        return None


@test("tasks and descriptors are constant over 100 reloads that change every source", limit=180)
def reloads():
    with web() as server, listener() as port:
        def configuration(number):
            return once(
                f"page: {{ description: round {number}, http: 'http://127.0.0.1:{server.port}/' }}",
                f"cache: {{ description: round {number}, tcp: '127.0.0.1:{port}' }}",
                f"plugin: {{ description: round {number}, exec: [/bin/echo, fine] }}",
                f"slow: {{ description: round {number}, exec: [/bin/sleep, '86403'] }}",
                f"unit: {{ description: round {number}, unit: nginx.service }}",
                f"web: {{ description: round {number}, notify: true, ttl: 1h }}",
                f"new{number}: {{ tcp: '127.0.0.1:{port}' }}")

        def threads(daemon):
            return len(os.listdir(f"/proc/{daemon.process.pid}/task"))

        with Daemon(configuration(0)) as daemon:
            for number in range(1, 11):
                daemon.file.write_text(configuration(number))
                daemon.done("reload")
            daemon.done("wait", "page", "--timeout", "15s")
            eventually(lambda: daemon.text("plugin") == "fine")
            before, tasks, memory = daemon.descriptors(), threads(daemon), daemon.resident()
            for number in range(11, 111):
                daemon.file.write_text(configuration(number))
                daemon.done("reload")
            daemon.done("wait", "new110", "--timeout", "15s")
            eventually(lambda: daemon.descriptors() <= before + 4, f"about {before} descriptors")
            eventually(lambda: threads(daemon) <= tasks + 4, f"about {tasks} threads")
            assert daemon.resident() < memory + 8 * 1024, f"{memory} KiB grew to {daemon.resident()} KiB"
