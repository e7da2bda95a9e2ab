# SPDX-License-Identifier: Apache-2.0
"""http: the reasons why a host cannot be reached."""

import os
import sys

from harness.daemon import Daemon
from harness.expect import Skip, equal
from harness.runner import test

from .test_network_checks import expect, in_small_network, of_host, once


@test("http: the reason is that of an address which this host can reach, if there is one")
def unreachable_family():
    for host, has_ipv6 in ("both.test", False), ("both.test", True), ("four.test", True):
        with Daemon(of_host(host), prefix=in_small_network(has_ipv6=has_ipv6)) as daemon:
            for server in "cache", "web":
                expect(daemon, server, "critical")
                equal(daemon.text(server), "connection refused", f"{server} of {host}")


NAME_SERVER = """
import fcntl, os, select, socket, struct, subprocess, sys, tempfile, threading

def serve_names():
    while True:
        query, client = names.recvfrom(4096)
        # A query is: ID, flags, four counts, and the name, each part after its length (RFC 1035, section 4.1).
        code = 0 if b"silent" in query else 2 if b"broken" in query else 3
        if code:
            end = query.index(0, 12) + 5
            names.sendto(query[:2] + bytes((0x81, 0x80 + code)) + query[4:6] + bytes(6) + query[12:end], client)

def serve_redirects():
    while True:
        connection, _ = web.accept()
        host = connection.recv(65536).split()[1].decode()[1:]
        connection.sendall(f"HTTP/1.1 302 Found\\r\\nLocation: http://{host}/\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
        connection.close()

with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14s", b"lo", 0x41, b""))  # SIOCSIFFLAGS: up and running
for path, text in ("/etc/resolv.conf", "nameserver 127.0.0.1\\n"), ("/etc/nsswitch.conf", "hosts: dns\\n"):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        subprocess.run(["mount", "--bind", file.name, path], check=True)
names = socket.socket(type=socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))
web = socket.create_server(("127.0.0.1", 80))
daemon = os.getpid()
if os.fork():
    os.execv(sys.argv[1], sys.argv[1:])
for serve in serve_names, serve_redirects:
    threading.Thread(target=serve, daemon=True).start()
select.select([os.pidfd_open(daemon)], [], [])
"""


def with_name_server():
    """The prefix of a command that runs it in a network of its own.

    Its name server is silent about silent.test, fails for broken.test, and knows no other host. A web server at its
    address 127.0.0.1 redirects to the host that is the path.
    """
    if os.getuid() != 0:
        raise Skip("needs root, for a network of its own")
    return "unshare", "-nm", "--", sys.executable, "-c", NAME_SERVER


@test("tcp and http: a host that does not exist, a failed lookup and a silent name server have three texts")
def lookups():
    names = {"missing.test": "host not found: missing.test",
             "broken.test": "cannot look up host broken.test: Temporary failure in name resolution",
             "silent.test": "cannot look up host silent.test: no answer within 2s"}
    kinds = {"tcp": "tcp: '{}:80'", "http": "http: 'http://{}/'", "redirect": "http: 'http://127.0.0.1/{}'"}
    servers = {f"{kind}-{name}": (line.format(name), reason) for kind, line in kinds.items() for name, reason in names.items()}
    with Daemon(once(*(f"{server}: {{ {line}, timeout: 2s }}" for server, (line, _) in servers.items())),
                prefix=with_name_server()) as daemon:
        for server, (_, reason) in servers.items():
            expect(daemon, server, "critical")
            equal(daemon.text(server), reason, server)
