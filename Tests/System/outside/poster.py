# SPDX-License-Identifier: Apache-2.0
"""Posts statuses as fast as it can until it is stopped: `poster.py SOCKET SERVER`. Each text is
"SERVER says NUMBER", so that a line with another server's text is recognised."""

import json
import signal
import sys

from harness.varlink import Connection

BATCH = 32


def main(path, server):
    """Pipelines batches of posts, and reads the replies of each batch before the next."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    number = 0
    with Connection(path) as connection:
        while True:
            calls = bytearray()
            for _ in range(BATCH):
                number += 1
                parameters = {"server": server, "text": f"{server} says {number}"}
                calls += json.dumps({"method": "org.statusd.monitor.Post", "parameters": parameters}).encode() + b"\0"
            connection.socket.sendall(calls)
            for _ in range(BATCH):
                reply = connection.receive()
                if reply is None or "error" in reply:
                    sys.exit(f"a post was answered with {reply}")


if __name__ == "__main__":
    main(*sys.argv[1:])
