# SPDX-License-Identifier: Apache-2.0
"""Machines of the network: a bridge, and a network namespace for each, with a hostname and a machine ID of its own."""

import os
import pathlib
import subprocess

# The machine ID and the hostname are this process's only: in its own mount and UTS namespace.
ENTER = 'hostname "$1"; mount --bind "$2" /etc/machine-id; namespace=$3; shift 3; exec nsenter --net="$namespace" "$@"'


def ip(*words, check=True):
    """Runs ip(8)."""
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def remove_old():
    """Removes what runs left behind that were killed."""
    for line in ip("-o", "link", "show", "type", "bridge").splitlines():
        name = line.split(": ")[1]
        if name.startswith("sdf") and not pathlib.Path(f"/proc/{name[3:]}").exists():
            ip("link", "del", name, check=False)
    for name in ip("netns", "list").split():
        words = name.split("-")
        if words[0] == "statusdfleet" and len(words) == 3 and not pathlib.Path(f"/proc/{words[1]}").exists():
            ip("netns", "del", name, check=False)


class Network:
    """A bridge that the broker listens on, and namespaces behind it that can be cut off."""

    def __init__(self, folder):
        self.folder, self.number = pathlib.Path(folder), os.getpid()
        self.bridge = f"sdf{self.number}"
        self.names = []
        remove_old()
        taken = ip("-4", "-o", "address")
        third = next(third for third in range(1, 250) if f" 10.214.{third}." not in taken)
        self.prefix = f"10.214.{third}."
        self.address = f"{self.prefix}1"
        ip("link", "add", self.bridge, "type", "bridge")
        ip("address", "add", f"{self.address}/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")

    def add(self, host):
        """Adds a machine; returns the beginning of the command lines that run on it."""
        number = len(self.names) + 1
        name, inner, outer = f"statusdfleet-{self.number}-{number}", f"sdf{self.number}i{number}", f"sdf{self.number}o{number}"
        ip("netns", "add", name)
        self.names.append(name)
        ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
        ip("link", "set", outer, "master", self.bridge, "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "address", "add", f"{self.prefix}{number + 1}/24", "dev", inner)
        ip("-n", name, "link", "set", inner, "up")
        machine = self.folder / f"machine-id-{number}"
        machine.write_text(f"{number:08x}" + "5" * 24 + "\n")
        return ["unshare", "-m", "-u", "sh", "-c", ENTER, "sh", host, str(machine), f"/run/netns/{name}"]

    def cut(self, number, is_cut=True):
        """Cuts the cable of a machine, counted from 0, or connects it again."""
        ip("link", "set", f"sdf{self.number}o{number + 1}", "down" if is_cut else "up")

    def close(self):
        for name in self.names:
            ip("netns", "del", name, check=False)
        ip("link", "del", self.bridge, check=False)
