# SPDX-License-Identifier: Apache-2.0
"""The summary of a fault run, in a few lines."""

import collections


class Summary:
    """Counts."""

    def __init__(self):
        self.events = self.posts = self.switches = self.reloads = self.unknown_events = 0
        self.slowest_start = self.slowest_stop = 0.0
        self.endings, self.faults = collections.Counter(), collections.Counter()
        self.done = collections.deque(maxlen=1000)  # what the conductor has done
        self.memory = self.descriptors_before = self.descriptors_after = 0

    def note_memory(self, daemon):
        """Notes the peak of the daemon's resident memory, in KiB."""
        self.memory = max(self.memory, daemon.resident("VmHWM"))

    def lines(self, model):
        """The summary."""
        def listed(counter):
            return ", ".join(f"{count} {name}" for name, count in sorted(counter.items())) or "none"

        return [f"{self.posts} posts, {self.events} events, {self.switches} switches, {self.reloads} reloads, "
                f"{self.endings['restart']} restarts, {self.endings['kill']} kills",
                f"other faults: {listed(self.faults)}",
                f"gaps: {listed(model.gaps)}",
                f"checked: {listed(model.checked)}",
                f"slowest start {self.slowest_start:.1f} s, slowest end {self.slowest_stop:.1f} s",
                f"peak resident memory {self.memory} KiB; descriptors {self.descriptors_before} before, {self.descriptors_after} after"]
