#!/usr/bin/env python3
# Follows the selected server with the Python package varlink (https://pypi.org/project/varlink/):
#     pip install varlink
#     python3 client.py [ADDRESS]
import sys

import varlink

address = sys.argv[1] if len(sys.argv) > 1 else "unix:/run/statusd/org.statusd.monitor"

with varlink.Client.new_with_address(address) as client, client.open("org.statusd.monitor") as statusd:
    for server in statusd.List()["servers"]:
        print("known:", server["name"])
    # A stream of events: first the current state, then each change, and each new selection with its whole state.
    for reply in statusd.Watch(_more=True):
        event = reply["event"]
        server = event.get("server")
        if event["kind"] in ("snapshot", "selected", "changed") and server:
            status = server.get("status") or {}
            print(server["name"], status.get("level", "none"), status.get("text", ""), flush=True)
