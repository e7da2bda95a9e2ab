# SPDX-License-Identifier: Apache-2.0
"""A real terminal for programs that need one: tmux, without the user's settings."""

import os
import shutil
import subprocess
import tempfile

from .daemon import environment
from .expect import Skip, eventually


class Screen:
    """A terminal of this size that runs a command, ended with the `with` block."""

    def __init__(self, *command, width=80, height=24, **variables):
        if not shutil.which("tmux"):
            raise Skip("there is no tmux; packaging/setup --test installs it")
        self.folder = tempfile.mkdtemp(prefix="tmux-", dir="/tmp")
        self.environment = environment(LC_ALL="C.UTF-8", TMUX="", **variables)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), *command)
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *arguments):
        done = subprocess.run(["tmux", "-S", f"{self.folder}/socket", *arguments], env=self.environment, text=True,
                              capture_output=True, timeout=20, check=False)
        assert done.returncode == 0, f"tmux {arguments}: {done.stderr}"
        return done.stdout

    def lines(self, colours=False):
        """The lines on the screen, without the blanks at their ends."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p", *(["-e"] if colours else [])).split("\n")[:-1]]

    def text(self):
        """The screen as one text."""
        return "\n".join(self.lines())

    def type(self, *keys):
        """Types keys, by tmux's names: `Down`, `Enter`, `C-c`, `j`."""
        self._tmux("send-keys", *keys)

    def send(self, text):
        """Sends these bytes as they are, such as a mouse's."""
        self._tmux("send-keys", "-l", text)

    def format(self, text):
        """The value that tmux gives for a format, such as `#{cursor_flag}`."""
        return self._tmux("display-message", "-p", text).strip()

    def resize(self, width, height):
        """Changes the size of the terminal."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def shows(self, *parts):
        """Waits until the screen shows all of these; returns its lines."""
        def check():
            text = self.text()
            missing = [part for part in parts if part not in text]
            assert not missing, f"no {missing} on the screen:\n{text}"
            return True
        eventually(check)
        return self.lines()

    def place(self, text):
        """The column of the first occurrence of a text in ASCII, as the terminal counts columns."""
        self._tmux("copy-mode")
        for command in (["top-line"], ["start-of-line"], ["search-forward-text", text]):
            self._tmux("send-keys", "-X", *command)
        # The cursor is at the end of the match.
        column = int(self._tmux("display-message", "-p", "#{copy_cursor_x}"))
        self._tmux("send-keys", "-X", "cancel")
        return column - len(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", f"{self.folder}/socket", "kill-server"], check=False, capture_output=True,
                       env=self.environment, timeout=20)
        shutil.rmtree(self.folder, ignore_errors=True)
