# SPDX-License-Identifier: Apache-2.0
"""Servers to check, on loopback: Python's own HTTP server, with and without TLS, and some that misbehave; and Varlink services. Each
listens on a port or socket of its own until the `with` block ends."""

import contextlib
import datetime
import http.server
import json
import os
import pathlib
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading

from .daemon import environment
from .expect import eventually


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the path: /status/N, /redirect/N (to N-1, finally to /), /loop, /http/PORT (to that port);
    everything else with "ready" and the request."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        self.server.bodies.append(body.decode())
        if self.server.failures:
            return self._answer(self.server.failures.pop(0), b"out of order\n")
        parts = self.path.split("/")
        if parts[1] == "redirect":
            number = int(parts[2])
            return self._answer(302, b"", Location=f"/redirect/{number - 1}" if number > 1 else "/")
        if parts[1] == "http":
            return self._answer(302, b"", Location=f"http://127.0.0.1:{parts[2]}/")
        if parts[1] == "loop":
            return self._answer(302, b"", Location="/loop")
        status = int(parts[2]) if parts[1] == "status" else 200
        return self._answer(status, f"{self.command} {self.path}: ready\n".encode())

    do_HEAD = do_POST = do_OPTIONS = do_GET

    def _answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        pass  # a client that refuses a certificate aborts the connection


class _Server6(_Server):
    address_family = socket.AF_INET6


@contextlib.contextmanager
def web(certificate=None, address="127.0.0.1"):
    """An HTTP server, with TLS if there is a certificate; has `port`, `requests` and `bodies`, which it has received, and
    `failures`, the statuses of its next answers."""
    server = (_Server6 if ":" in address else _Server)((address, 0), _Handler)
    server.requests, server.bodies, server.failures, server.port = [], [], [], server.server_address[1]
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def listener(handle=None, address="127.0.0.1"):
    """A TCP server that passes its connections to `handle`; without one it accepts and keeps them, and never answers. Yields the
    port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kept = []
    with socket.socket(family) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, 0))
        server.listen(256)

        def accept():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                if handle:
                    threading.Thread(target=handle, args=(connection,), daemon=True).start()
                else:
                    kept.append(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in kept:
                connection.close()


@contextlib.contextmanager
def containers(states, folder="/tmp"):
    """An HTTP server on a Unix socket that answers with the health of containers as Podman and Docker do; yields its path."""
    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            name = self.rfile.readline().split()[1].decode().split("/")[2]
            while self.rfile.readline().strip():
                pass
            health = {"Status": states.get(name), "Log": [{"ExitCode": 0}]}
            code, body = (200, {"Name": f"/{name}", "State": {"Status": "running", "Health": health}}) if name in states else (404, {"message": "no container"})
            text = json.dumps(body)
            self.wfile.write(f"HTTP/1.1 {code} Text\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())

    with tempfile.TemporaryDirectory(prefix="engine-", dir=folder) as own:
        os.chmod(own, 0o755)
        path = f"{own}/engine.sock"
        with Server(path, Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            try:
                yield path
            finally:
                server.shutdown()


def refused_port():
    """A port that nobody listens on."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class Gigabyte:
    """Answers with a gigabyte, and counts the sent bytes in `sent`."""

    def __init__(self):
        self.sent = 0

    def __call__(self, connection):
        with connection:
            connection.recv(4096)
            try:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
                block = b"x" * 65536
                for _ in range(16384):
                    self.sent += connection.send(block)
            except OSError:
                pass


class Certificates:
    """An authority of its own (`ca`) in a temporary folder, made with openssl; `make` makes server certificates signed by it."""

    CONFIGURATION = """[ca]
default_ca = d
[d]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = p
unique_subject = no
copy_extensions = copy
[p]
commonName = supplied
"""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="statusd-ca-", dir="/tmp")
        self.folder = pathlib.Path(self._folder.name)
        self.folder.chmod(0o755)
        (self.folder / "ca.cnf").write_text(self.CONFIGURATION)
        (self.folder / "index.txt").touch()
        (self.folder / "serial").write_text("01\n")
        self.ca = self.self_signed("ca", "Test authority")

    def self_signed(self, name, common_name):
        """Makes a self-signed certificate; returns the path of a file with certificate and key."""
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt", "-days",
                      "30", "-subj", f"/CN={common_name}", "-addext", f"subjectAltName=DNS:{common_name.split()[-1]}")
        return self._together(name)

    def make(self, name, names="DNS:localhost,IP:127.0.0.1,IP:::1", first_day=-1, last_day=20, issuer=None, is_issuer=False):
        """A certificate for `names`, valid between these days from now. With `issuer`, the name of one made with `is_issuer`, the
        file has both."""
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                      f"/CN={name}", "-addext", f"subjectAltName={names}", *(("-addext", "basicConstraints=CA:TRUE") if is_issuer else ()))
        now = datetime.datetime.now(datetime.timezone.utc)
        # An hour into the day, so that the number of whole days since does not depend on the time of day.
        begin, end = (f"{now + datetime.timedelta(days=day, hours=-1):%Y%m%d%H%M%SZ}" for day in (first_day, last_day))
        self._openssl("ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", f"{issuer or 'ca'}.crt", "-keyfile", f"{issuer or 'ca'}.key", "-in",
                      f"{name}.csr", "-out", f"{name}.crt", "-startdate", begin, "-enddate", end)
        return self._together(name, issuer)

    def _together(self, name, issuer=None):
        path = self.folder / f"{name}.pem"
        files = [f"{name}.crt", *([f"{issuer}.crt"] if issuer else []), f"{name}.key"]
        path.write_text("".join((self.folder / file).read_text() for file in files))
        path.chmod(0o644)
        return str(path)

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"openssl {arguments[0]}: {done.stderr}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()


@contextlib.contextmanager
def serving(*command):
    """Runs a Varlink service on a socket in a directory of its own, and stops it; {} in its command is the path."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        service = subprocess.Popen([*(str(part).format(path) for part in command)], env=environment(),
                                   stdout=subprocess.DEVNULL)
        try:
            eventually(lambda: os.path.exists(path))
            yield path
        finally:
            service.kill()
            service.wait()
