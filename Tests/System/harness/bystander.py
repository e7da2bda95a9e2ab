# SPDX-License-Identifier: Apache-2.0
"""A well-behaved client that measures how long the daemon keeps it waiting.

Run as a program, it calls the daemon until there is a line on its standard input, then writes its figures as JSON.
"""

import json
import os
import select
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness.attacker import become
from harness.varlink import Connection, VarlinkError

PAUSE = 0.001
NEWCOMERS = 10
"""A new client connects once in this many round trips."""
USER = 49_999
"""An ordinary user, because the daemon prefers root; none of the attackers has this id."""
FROZEN = 10.0
"""The seconds without an answer after which the daemon counts as frozen; far more than it ever needs."""


class Bystander:
    """A separate process that calls the daemon continuously, so that the test's own work is not measured."""

    def __init__(self, daemon, user=USER):
        self.daemon = daemon
        self.before = (daemon.resident(), daemon.descriptors())
        self.processors = processor_time()
        self.process = subprocess.Popen([sys.executable, __file__, daemon.socket, str(user)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "asking\n", "the bystander got no answer"

    def finish(self, attack):
        """Ends the measurement, prints its figures and returns them; fails if the daemon froze."""
        out, _ = self.process.communicate("enough\n", timeout=4 * FROZEN)
        figures = json.loads(out)
        times = sorted(figures["times"])
        assert times and not figures["frozen"], f"the daemon did not answer for {FROZEN} s during: {attack}"
        memory, descriptors = self.daemon.resident(), self.daemon.descriptors()
        p50, p99, worst = percentiles(times)
        _, p99_new, worst_new = percentiles(sorted(figures["newcomers"]))
        late = f" LATE{self.stolen()}" if max(p99, p99_new) > 10 or max(worst, worst_new) > 100 else ""
        print(f"     {attack}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, worst {worst:.1f} ms of {len(times)} round trips;"
              f" connecting and one: p99 {p99_new:.2f} ms, worst {worst_new:.1f} ms of {len(figures['newcomers'])};"
              f" {self.before[0] / 1024:.1f} -> {memory / 1024:.1f} MB,"
              f" {self.before[1]} -> {descriptors} descriptors{late}", flush=True)
        return figures

    def stolen(self):
        """The part of the time that the host of a virtual machine stole, which delays everything."""
        stolen, all_of_it = (after - before for before, after in zip(self.processors, processor_time()))
        return f" ({100 * stolen / max(1, all_of_it):.0f} % of the processors' time was stolen)" if stolen else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for each in (self.process.stdin, self.process.stdout):
            each.close()


def percentiles(times):
    """The median, the 99th percentile and the longest of some seconds, in milliseconds."""
    return (1000 * times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.99, 1))


def processor_time():
    """The time that the host of a virtual machine stole, and the total time (proc_stat(5))."""
    with open("/proc/stat") as file:
        figures = [int(figure) for figure in file.readline().split()[1:9]]
    return figures[7], sum(figures)


def timed(function, *arguments):
    """The seconds that a call takes."""
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def ask(connection):
    """One round trip through the daemon's own data."""
    try:
        connection.call("Describe")
    except VarlinkError:  # no server is selected
        pass


def come_and_ask(path):
    """The same with a new client."""
    with Connection(path, timeout=FROZEN) as connection:
        ask(connection)


def main(path, user):
    """Calls until there is a line on standard input."""
    try:
        # This measures the daemon, not how long this process waits for a processor.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass
    become(user)
    times, newcomers, frozen = [], [], False
    with Connection(path, timeout=FROZEN) as connection:
        ask(connection)
        print("asking", flush=True)
        try:
            while not select.select([0], [], [], PAUSE)[0]:
                times.append(timed(ask, connection))
                if len(times) % NEWCOMERS == 1:
                    newcomers.append(timed(come_and_ask, path))
        except TimeoutError:
            frozen = True
    json.dump({"times": times, "newcomers": newcomers, "frozen": frozen}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
