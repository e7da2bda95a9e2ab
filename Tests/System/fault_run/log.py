# SPDX-License-Identifier: Apache-2.0
"""The reader of the daemon's log, which may stop reading for a while."""

import os
import re
import threading

CHANGE = re.compile(r"statusd: (?:\w+: )?(\S+): (\S+) says (\d+)")


class LogReader:
    """Reads a pipe, and keeps the lines that the run needs."""

    def __init__(self, path):
        self._output, self.input = os.pipe()
        self._file = open(path, "wb")
        self._may_read = threading.Event()
        self._may_read.set()
        self.newest = {}  # the newest line of each server
        self.faults = []
        self.unsaved, self.saved_again, self.set_aside, self.lost = 0, 0, 0, 0
        self.other = []  # the newest warnings
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def pause(self):
        """Stops reading."""
        self._may_read.clear()

    def resume(self):
        """Reads again."""
        self._may_read.set()

    @property
    def is_paused(self):
        """Whether it does not read now."""
        return not self._may_read.is_set()

    def _read(self):
        rest = b""
        while True:
            self._may_read.wait()
            data = os.read(self._output, 65536)
            if not data:
                return
            self._file.write(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take(line.decode(errors="replace"))

    def _take(self, line):
        if found := CHANGE.match(line):
            name, of, count = found.groups()
            if name != of:
                self.faults.append(f"the log has the text of another server: {line}")
            self.newest[name] = int(count)
            return
        for mark, name in (("cannot save the", "unsaved"), ("the state is saved again", "saved_again"),
                           ("starting a new file", "set_aside"), ("messages were lost", "lost")):
            if mark in line:
                setattr(self, name, getattr(self, name) + 1)
        if "warning:" in line or "error:" in line or not line.startswith("statusd: "):
            self.other = [*self.other[-19:], line]

    def close(self):
        """Reads to the end of the pipe, after the daemon has ended."""
        self.resume()
        os.close(self.input)
        self._thread.join(20)
        self._file.close()
        os.close(self._output)
