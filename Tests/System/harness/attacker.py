# SPDX-License-Identifier: Apache-2.0
"""Processes of an unprivileged user who attacks the daemon."""

import contextlib
import multiprocessing
import os
import signal
import time

from .daemon import NOBODY
from .expect import Skip

_processes = multiprocessing.get_context("fork")


def need_root():
    """Skips the test unless it runs as root, which can start processes of other users."""
    if os.getuid() != 0:
        raise Skip("needs root, to run a command as another user")


def become(user, groups=()):
    """Gives up root's rights for those of an unprivileged user in these groups."""
    if os.geteuid() == 0 and user != 0:
        os.setgroups(groups)
        os.setgid(user)
        os.setuid(user)


def _report(pipe, user, function, arguments):
    become(user)
    try:
        pipe.send((function(*arguments), None))
    except OSError as error:
        pipe.send((None, error))


def as_user(user, function, *arguments):
    """Calls a function in a process of this user; returns what it returns, or raises its OSError."""
    receiving, sending = _processes.Pipe(duplex=False)
    process = _processes.Process(target=_report, args=(sending, user, function, arguments), daemon=True)
    process.start()
    result, error = receiving.recv()
    process.join()
    if error is not None:
        raise error
    return result


class Attacker:
    """Runs a function in a process of its own, as an unprivileged user if the tests run as root. The process keeps its open
    files until the `with` block ends; then it and the processes that it started are killed."""

    def __init__(self, attack, *arguments, user=NOBODY, groups=()):
        self._done = _processes.Event()
        self.process = _processes.Process(target=self._run, args=(attack, user, groups, arguments), daemon=True)
        self.process.start()
        with contextlib.suppress(ProcessLookupError):  # it also does this itself, so that neither has to wait
            os.setpgid(self.process.pid, 0)

    def _run(self, attack, user, groups, arguments):
        os.setpgid(0, 0)
        become(user, groups)
        kept = attack(*arguments)
        self._done.set()
        while kept is not self:
            time.sleep(60)

    def wait(self, timeout=60):
        """Waits until the attack has ended."""
        assert self._done.wait(timeout), f"the attack was not done after {timeout} s; it ended with {self.process.exitcode}"

    def is_done(self):
        """Whether the attack has ended or failed."""
        return self._done.is_set() or not self.process.is_alive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()
