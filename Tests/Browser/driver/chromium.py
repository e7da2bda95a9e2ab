# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium, through chromedriver."""

import json
import subprocess
import urllib.error
import urllib.request

from .browser import Browser, BrowserError

# Loopback only: nothing is looked up or fetched in the background.
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
             "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
             "--disable-background-networking", "--disable-component-update"]

# Command: method and path below /session/ID/.
PATHS = {
    "Navigate": ("POST", "url"), "ExecuteScript": ("POST", "execute/sync"),
    "ExecuteAsyncScript": ("POST", "execute/async"), "PerformActions": ("POST", "actions"),
    "SetWindowRect": ("POST", "window/rect"), "NewWindow": ("POST", "window/new"), "SwitchToWindow": ("POST", "window"),
    "GetWindowHandle": ("GET", "window"), "CloseWindow": ("DELETE", "window"), "TakeScreenshot": ("GET", "screenshot"),
    "DeleteSession": ("DELETE", ""), "SetTimeouts": ("POST", "timeouts"), "Protocol": ("POST", "goog/cdp/execute"),
}


class Chromium(Browser):
    """It also speaks the DevTools protocol, which has touch, colour schemes and measurements."""

    name = "chromium"

    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        # “ChromeDriver was started successfully on port 12345.”
        line = next(line for line in self.driver.stdout if "successfully on port" in line)
        self.base = f"http://127.0.0.1:{line.rstrip().rstrip('.').rsplit(' ', 1)[1]}/session"
        options = {"goog:chromeOptions": {"args": ARGUMENTS}, "pageLoadStrategy": "eager"}
        session = self._request("POST", "", {"capabilities": {"alwaysMatch": options}})
        self.base += f"/{session['sessionId']}"
        self.call("SetTimeouts", {"script": 60_000})

    def call(self, command, parameters=None):
        method, path = PATHS[command]
        return self._request(method, path and f"/{path}", parameters or {})

    def _request(self, method, path, body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=45) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(json.load(error)["value"]["message"]) from error

    def protocol(self, command, **parameters):
        """A command of the DevTools protocol."""
        return self.call("Protocol", {"cmd": command, "params": parameters})

    def resize(self, width, height):
        self.protocol("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=False)

    def become_phone(self, width, height):
        """Has a touch screen of this size until `become_desktop`."""
        self.protocol("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=True)
        self.protocol("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)

    def become_desktop(self):
        self.protocol("Emulation.setTouchEmulationEnabled", enabled=False)
        self.resize(1280, 800)

    def prefer(self, scheme):
        """Prefers “light” or “dark”."""
        self.protocol("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def touch(self, kind, x=0, y=0):
        """Touches the screen: “Start” and “Move” at a point, or “End”."""
        points = [] if kind == "End" else [{"x": x, "y": y}]
        self.protocol("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=points)

    def measurements(self):
        """What the tab holds now, after a garbage collection."""
        self.protocol("Performance.enable")
        self.protocol("HeapProfiler.collectGarbage")
        return {item["name"]: item["value"] for item in self.protocol("Performance.getMetrics")["metrics"]}

    def close(self):
        try:
            self.call("DeleteSession")
        finally:
            self.driver.terminate()
            self.driver.wait()
