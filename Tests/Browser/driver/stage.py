# SPDX-License-Identifier: Apache-2.0
"""A running page and what happens behind it.

The tests do not start servers themselves: a stage does. It is a command, to which `--servers N` may be added, and
`--hosts N` for other hosts, host-000 and so on, with servers s0@host-000 to s7@host-000, which are ok. Its first
line of output is `{"address": "http://127.0.0.1:8470/"}`. Then it reads requests, one JSON object a line, carries each
out and answers with a line of JSON (`{}`, or `{"error": "…"}`):

    {"do": "post", "server": "db", "level": "ok", "text": "…"}     statusctl post
    {"do": "report", "server": "s0@host-000", "level": "ok", "text": "…"}     what statusd-mqtt tells
    {"do": "select", "server": "db"}                               statusctl select
    {"do": "stop"}, {"do": "start"}                                kills statusd, and starts it again
    {"do": "freeze"}, {"do": "thaw"}                               stops statusd-web with SIGSTOP, and continues it
    {"do": "hold"}, {"do": "release"}                              lets no check end, and lets them end again

It ends at the end of its input. It has at least 20 servers, among them `web` and `db`, the group `pair` of two others, and one of each level; `web` is
the parent of `server-0`; `actions`
are on, and at least one server can be refreshed, which takes about a second.
"""

import json
import shlex
import subprocess
import urllib.request


class Stage:
    """A stage that runs until `close()`."""

    def __init__(self, command, servers=None, hosts=None):
        options = (["--servers", str(servers)] if servers else []) + (["--hosts", str(hosts)] if hosts else [])
        arguments = shlex.split(command) + options
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = json.loads(self.process.stdout.readline())["address"]

    def do(self, verb, **parameters):
        """Lets something happen, and returns when it has."""
        self.process.stdin.write(json.dumps({"do": verb} | parameters) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, f"{verb}: {answer['error']}"
        return answer

    def post(self, server, level, text):
        self.do("post", server=server, level=level, text=text)

    def report(self, server, level, text):
        self.do("report", server=server, level=level, text=text)

    def select(self, server):
        self.do("select", server=server)

    def get(self, path):
        """Fetches a path of statusd-web and returns the body."""
        with urllib.request.urlopen(self.address + path) as answer:
            return answer.read()

    def servers(self):
        """The servers as statusd lists them."""
        return json.loads(self.get("api/list"))["servers"]

    def takers(self):
        """The names of the servers to which texts can be posted."""
        return [server["name"] for server in self.servers() if server["source"] == "push"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
