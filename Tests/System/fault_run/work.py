# SPDX-License-Identifier: Apache-2.0
"""A process that works between the commands of the conductor."""

import multiprocessing
import os
import signal
import traceback

_processes = multiprocessing.get_context("fork")


class Worker:
    """The work of the process: `step` works for a short time, and `collect` returns the results since the last call."""

    def __init__(self, pipe):
        self.pipe = pipe

    def command(self, name, *arguments):
        """Carries out a command; returns its answer."""
        return getattr(self, name)(*arguments)

    def run(self):
        """Works until the conductor ends."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        wait = 0
        while True:
            if self.pipe.poll(wait):
                command = self.pipe.recv()
                if command[0] == "end":
                    return
                try:
                    answer = self.command(*command)
                except Exception:  # pylint: disable=broad-except
                    answer = RuntimeError(traceback.format_exc())
                self.pipe.send(answer)
            wait = self.step()

    def step(self):
        """Works for a short time; returns the seconds until there is more to do."""
        raise NotImplementedError


def _main(pipe, kind, arguments):
    try:
        kind(pipe, *arguments).run()
    except (EOFError, OSError):
        traceback.print_exc()
    os._exit(0)


class Process:
    """A worker in a process of its own, as the conductor sees it."""

    def __init__(self, kind, *arguments):
        self.pipe, other = _processes.Pipe()
        self._process = _processes.Process(target=_main, args=(other, kind, arguments), daemon=True)
        self._process.start()
        other.close()

    def send(self, *command):
        """Sends a command."""
        self.pipe.send(command)

    def answer(self, patience=60):
        """The answer to the oldest command without one."""
        assert self.pipe.poll(patience), "a process of the fault run does not answer"
        found = self.pipe.recv()
        if isinstance(found, RuntimeError):
            raise found
        return found

    def call(self, *command):
        """Sends a command and returns the answer."""
        self.send(*command)
        return self.answer()

    def end(self):
        """Ends the process."""
        try:
            self.pipe.send(("end",))
        except OSError:
            pass
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def call_all(processes, *command):
    """Sends a command to several processes; returns their answers."""
    for process in processes:
        process.send(*command)
    return [process.answer() for process in processes]
