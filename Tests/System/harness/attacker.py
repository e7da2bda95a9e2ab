# SPDX-License-Identifier: Apache-2.0
"""Processes of an ordinary user who means ill."""

import multiprocessing
import os
import time

from .daemon import NOBODY

_processes = multiprocessing.get_context("fork")


class Attacker:
    """A function that runs in a process of its own, as an unprivileged user where the tests run as root. The process keeps what it has
    opened until the `with` block ends."""

    def __init__(self, attack, *arguments, user=NOBODY):
        self._done = _processes.Event()
        self.process = _processes.Process(target=self._run, args=(attack, user, arguments), daemon=True)
        self.process.start()

    def _run(self, attack, user, arguments):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        kept = attack(*arguments)
        self._done.set()
        while kept is not self:
            time.sleep(60)

    def wait(self, timeout=60):
        """Waits until the attack has done all it does."""
        assert self._done.wait(timeout), f"the attack was not done after {timeout} s; it ended with {self.process.exitcode}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
