# SPDX-License-Identifier: Apache-2.0
"""Notifications, as the service manager takes them."""

import socket

from harness.expect import eventually
from harness.runner import test

from .unit import connect, done, service, show

# The messages from a program to its service manager, each with the text that counts.
MESSAGES = {
    b"READY=1\nSTATUS=a\nSTATUS=b\n": "a",
    b"STATUS=c\r\n": "c",
    b"STATUS=d\rSTATUS=e\n": "d",
    b"STATUS=f\nSTATUS=\n": "f",
}

SENDER = f"""
import os, socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.connect(os.environ["NOTIFY_SOCKET"])
for message in {list(MESSAGES)!r}:
    manager.send(message)
    sys.stdin.readline()
"""


@test("of two values in a message, the one that systemd takes counts, and lines may end with CR LF")
def as_systemd():
    with service(configuration="servers: { app: { notify: true } }\n"), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as app:
        app.connect("/run/statusd/notify/app")
        done("mkfifo", "/run/next")
        done("systemd-run", "--quiet", "--unit=sender", "-p", "Type=notify", "-p", "NotifyAccess=all", "-p", "StandardInput=file:/run/next",
             "--no-block", "/usr/bin/python3", "-c", SENDER)
        with open("/run/next", "w") as following:
            for message, text in MESSAGES.items():
                app.send(message)
                eventually(lambda: show("StatusText", "sender.service") == text, f"systemd to show “{text}” for {message}")
                with connect() as connection:
                    eventually(lambda: connection.call("Describe", {"server": "app"})["server"]["status"]["text"] == text, f"“{text}” for {message}")
                following.write("\n")
                following.flush()
