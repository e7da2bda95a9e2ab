# SPDX-License-Identifier: Apache-2.0
"""A private network for the benchmarks, configured as systemd configures the host's."""

import fcntl
import os
import socket
import struct
import subprocess
import sys

INSIDE = "STATUSD_BENCH_NETWORK"
QUEUE = "/proc/sys/net/unix/max_dgram_qlen"
# The value that systemd writes at boot (src/core/main.c); the kernel's own 10 blocks a sender of datagrams all the time.
QUEUE_LENGTH = 512
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def enter():
    """Restarts this program in a network of its own, if that is allowed; once there, configures it."""
    if INSIDE in os.environ:
        set_up()
        return
    command = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        os.execvpe(command[0], [*command, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
    with open(QUEUE) as file:
        print(f"benchmarks: in the host's network; a datagram socket holds {int(file.read())} messages there", file=sys.stderr)


def set_up():
    with open(QUEUE, "w") as file:
        file.write(str(QUEUE_LENGTH))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
