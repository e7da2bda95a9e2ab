# SPDX-License-Identifier: Apache-2.0
"""Brokers on free ports, each in a folder of its own: a mosquitto, or a cluster of nats-servers behind the same face."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from . import mqtt

PATIENCE = 20
MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"


def free_port(address="127.0.0.1"):
    """A port that is free now."""
    with socket.socket() as found:
        found.bind((address, 0))
        return found.getsockname()[1]


def until_open(address, process, log):
    """Waits until something listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(address, timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"no broker at {address}: {pathlib.Path(log).read_text(errors='replace')[-500:]}")


class Node:
    """A process of a broker, which can be stopped, killed and started again at the same port."""

    def __init__(self, command, log, address):
        self.command, self.log, self.address = command, log, address
        self.process = None

    def start_alone(self):
        """Starts it, and does not wait until it listens."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self):
        self.start_alone()
        until_open(self.address, self.process, self.log)

    def end(self, number=signal.SIGTERM):
        """Sends a signal, and waits."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)

    def kill(self):
        self.end(signal.SIGKILL)

    def restart(self, number=signal.SIGTERM):
        self.end(number)
        self.start()

    def memory(self):
        """Its memory, in MB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


class Engine:
    """Nodes in a temporary folder."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="statusd-fleet-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.nodes = []

    @property
    def addresses(self):
        return [node.address for node in self.nodes]

    def start(self):
        for node in self.nodes:
            node.start()

    def kill(self):
        for node in self.nodes:
            node.kill()

    def restart(self, number=signal.SIGTERM):
        """Ends all nodes with a signal, and starts them again."""
        for node in self.nodes:
            node.end(number)
        self.start()

    def memory(self):
        return [round(node.memory()) for node in self.nodes]

    def log(self):
        return "".join(pathlib.Path(node.log).read_text(errors="replace") for node in self.nodes)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.end(signal.SIGKILL)
        if not os.environ.get("STATUSD_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)


class Mosquitto(Engine):
    """Debian's mosquitto. `listeners`: addresses in addition to 127.0.0.1; `lines`: more lines of its configuration."""

    # Without a queue for a slow hub, a message would be lost; and nothing is kept, so that a restart forgets all.
    LIMITS = ["max_queued_messages 10000000", "max_inflight_messages 0", "set_tcp_nodelay true"]
    # Says who connected, and leaves out each message.
    LOG = ["log_type error", "log_type warning", "log_type notice", "log_type information"]

    def __init__(self, listeners=(), lines=("allow_anonymous true",), persistent=False, port=None):
        super().__init__()
        self.port = port or free_port()
        configuration = self.folder / "mosquitto.conf"
        listen = [f"listener {self.port} {address}" for address in ("127.0.0.1", *listeners)]
        kept = ["persistence true", f"persistence_location {self.folder}/"] if persistent else ["persistence false"]
        texts = [line.replace("FOLDER", str(self.folder)) for line in lines]
        configuration.write_text("\n".join([*texts, *self.LIMITS, *kept, *self.LOG, "user root", *listen]) + "\n")
        self.nodes = [Node([MOSQUITTO, "-c", str(configuration)], self.folder / "log", ("127.0.0.1", self.port))]

    def passwords(self, **users):
        """Writes the file of passwords that a configuration names FOLDER/passwords."""
        path = self.folder / "passwords"
        path.touch(mode=0o600)
        for user, password in users.items():
            subprocess.run(["mosquitto_passwd", "-b", path, user, password], check=True, capture_output=True)


CLUSTER = """server_name: n{number}
listen: 127.0.0.1:{client}
jetstream {{ store_dir: "{folder}/n{number}", max_mem: 256M, max_file: 4G }}
cluster {{ name: fleet, listen: 127.0.0.1:{route}, routes: [ {routes} ] }}
mqtt {{ listen: 127.0.0.1:{mqtt}, ack_wait: "30s", max_ack_pending: 1024, stream_replicas: {replicas} }}
"""


class Nats(Engine):
    """A cluster of nats-servers with JetStream; `program`: version 2.10 or later."""

    def __init__(self, program, nodes=3):
        super().__init__()
        routes = [free_port() for _ in range(nodes)]
        for number, route in enumerate(routes):
            port, configuration = free_port(), self.folder / f"n{number}.conf"
            configuration.write_text(CLUSTER.format(
                number=number, client=free_port(), folder=self.folder, route=route, mqtt=port, replicas=nodes,
                routes=", ".join(f'"nats://127.0.0.1:{other}"' for other in routes)))
            self.nodes.append(Node([program, "-c", str(configuration)], self.folder / f"n{number}.log",
                                   ("127.0.0.1", port)))

    def start(self):
        # A node alone has no quorum, and its MQTT side answers only with one.
        for node in self.nodes:
            node.start_alone()
        for node in self.nodes:
            until_open(node.address, node.process, node.log)
        for node in self.nodes:
            self.until_clustered(node)

    @staticmethod
    def until_clustered(node):
        """Waits until it takes messages: a client that comes before there is a leader gets no answer."""
        end = time.monotonic() + 3 * PATIENCE
        while True:
            try:
                with mqtt.Client(node.address, "first") as client:
                    client.publish("first", b"")
                return
            except OSError:
                if time.monotonic() > end:
                    raise
