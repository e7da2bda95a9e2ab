# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus, and an HTTP server from which it scrapes the output of `statusctl metrics`."""

import contextlib
import http.server
import json
import pathlib
import re
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

from .expect import equal, eventually
from .receivers import need

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "packaging/examples"
RULES = EXAMPLES / "prometheus-rules.yml"
CONFIGURATION = """
global: {{ scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 100ms }}
rule_files: [{folder}/rules.yml]
scrape_configs:
  - {{ job_name: text, metrics_path: /text, static_configs: [{{ targets: ["127.0.0.1:{port}"] }}] }}
  - {{ job_name: openmetrics, metrics_path: /openmetrics, static_configs: [{{ targets: ["127.0.0.1:{port}"] }}] }}
"""
TYPES = {"/text": "text/plain; version=0.0.4; charset=utf-8", "/openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8"}


def check_metrics(text):
    """Checks that promtool has nothing to say about metrics in the text format."""
    need("promtool")
    result = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30, check=False)
    equal((result.returncode, result.stdout, result.stderr), (0, "", ""), text[-2000:])


class Prometheus:
    """A Prometheus with the rules of the package, which do not wait ("for")."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/api/v1"

    def get(self, path, **parameters):
        """The data of a reply of its API."""
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}/{path}?{query}", timeout=10) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            # It answers so until it has started.
            raise AssertionError(f"{path}: {error}") from error

    def query(self, expression):
        """The samples of an expression now: their labels and their values."""
        return [(sample["metric"], float(sample["value"][1])) for sample in self.get("query", query=expression)["result"]]

    def firing(self):
        """The name of each alert that fires, with the server or the receiver, and the job."""
        return sorted((alert["labels"]["alertname"], alert["labels"].get("server", alert["labels"].get("receiver")), alert["labels"]["job"])
                      for alert in self.get("alerts")["alerts"] if alert["state"] == "firing")


@contextlib.contextmanager
def prometheus(metrics):
    """A Prometheus that scrapes what `metrics` returns: a function of whether the format is OpenMetrics."""
    need("prometheus")

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            body = metrics(self.path == "/openmetrics")
            self.send_response(200 if body else 503)
            self.send_header("Content-Type", TYPES[self.path])
            self.end_headers()
            self.wfile.write(body.encode())

    with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        path = pathlib.Path(folder)
        (path / "rules.yml").write_text(re.sub(r"for: \S+", "for: 0s", RULES.read_text(encoding="utf-8")), encoding="utf-8")
        (path / "prometheus.yml").write_text(CONFIGURATION.format(folder=folder, port=server.server_address[1]), encoding="utf-8")
        with open(path / "log", "wb") as log, subprocess.Popen(
                ["prometheus", f"--config.file={path}/prometheus.yml", f"--storage.tsdb.path={path}/data", "--web.listen-address=127.0.0.1:0"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process:
            try:
                def port():
                    found = re.findall(r'msg="Listening on" address=127\.0\.0\.1:(\d+)', (path / "log").read_text(encoding="utf-8"))
                    assert process.poll() is None, (path / "log").read_text(encoding="utf-8")[-1000:]
                    return found and found[0]

                yield Prometheus(eventually(port, "the port of Prometheus"))
            finally:
                process.kill()
                server.shutdown()
                thread.join()
