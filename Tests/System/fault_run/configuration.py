# SPDX-License-Identifier: Apache-2.0
"""The daemon's configuration, which changes in a run: servers come, go and get new descriptions."""

EXTRA = 20


class Configuration:
    """The servers that stay, and some that come and go."""

    def __init__(self, count, choice):
        self.names = [f"server{n}" for n in range(count)]
        self._random = choice
        self._descriptions = {name: 1 for name in self.names}
        self._extra = set()
        self._in_force = None
        self.started()

    def started(self):
        """Notes that the daemon has read it."""
        self._in_force = (dict(self._descriptions), set(self._extra))

    def all_names(self):
        """The configured servers."""
        return set(self.names) | self._extra

    def text(self):
        """The file."""
        lines = ["accept: any", "servers:"]
        lines += [f"  {name}: {{ push: true, description: Number {count} }}" for name, count in self._descriptions.items()]
        lines += [f"  {name}: {{ push: true }}" for name in sorted(self._extra)]
        return "\n".join(lines) + "\n"

    def change(self):
        """Changes it at random; returns the reply that a reload must give."""
        for name in self._random.sample(self.names, self._random.randint(0, min(8, len(self.names)))):
            self._descriptions[name] += 1
        for name in self._random.sample([f"extra{n}" for n in range(EXTRA)], self._random.randint(0, 5)):
            self._extra ^= {name}
        described, extra = self._in_force
        return {"added": sorted(self._extra - extra), "removed": sorted(extra - self._extra),
                "changed": sorted(n for n in self.names if described[n] != self._descriptions[n])}
