# SPDX-License-Identifier: Apache-2.0
"""http in the sandbox of the service: sockets of container engines, and credentials of the service."""

import os
import pathlib

from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.servers import containers, web

from .unit import describe, done, journal, service


def failure(server):
    return eventually(lambda: (state := describe(server))["phase"] == "failed" and state["message"], f"{server} has failed")


@test("http asks a container engine's socket in /run with the group that its message names, and sends a credential of the service")
def engine():
    secret = pathlib.Path("/etc/statusd-test-token")
    secret.write_text("Bearer abracadabra\n")
    secret.chmod(0o600)
    try:
        with web() as server, containers({"web": "healthy", "db": "unhealthy"}, folder="/run") as path:
            os.chown(path, 0, 8)
            os.chmod(path, 0o660)
            pathlib.Path("/run/user").mkdir(exist_ok=True)
            expected = "json: { path: .State.Health.Status, equals: healthy }"
            configuration = "defaults: { interval: 1h }\nservers:\n" + "".join(
                f"  {name}: {{ http: {{ socket: {path}, url: 'http://localhost/containers/{name}/json', {expected} }} }}\n" for name in ("web", "db"))
            configuration += "  hidden: { http: { socket: /run/user/0/podman/podman.sock, url: 'http://localhost/' } }\n"
            configuration += f"  site: {{ http: {{ url: 'http://127.0.0.1:{server.port}/', headers: {{ Authorization: {{ credential: api }} }} }} }}\n"
            with service(configuration=configuration):
                contains(failure("web"), f"cannot connect to {path}: permission denied for the user statusd; add SupplementaryGroups=mail by “systemctl edit statusd”")
                contains(failure("hidden"), "ProtectHome= of the service hides /run/user")
                contains(failure("site"), "no credential “api”; add LoadCredential=api:/path by “systemctl edit statusd”")
            with service(configuration=configuration, drop_in=f"[Service]\nSupplementaryGroups=mail\nLoadCredential=api:{secret}\n"):
                for name, level in ("web", "ok"), ("db", "critical"), ("site", "ok"):
                    done("statusctl", "wait", name, "--level", level, "--timeout", "15s")
                equal(describe("db")["status"]["text"], "State.Health.Status is “unhealthy”")
                equal(server.requests[-1][2]["Authorization"], "Bearer abracadabra")
                assert "abracadabra" not in str(journal()) + done("statusctl", "list", "--json")
    finally:
        secret.unlink()
