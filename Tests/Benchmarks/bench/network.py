# SPDX-License-Identifier: Apache-2.0
"""A private network for the benchmarks, configured as systemd configures the host's, and an ordinary user in it."""

import fcntl
import os
import pwd
import socket
import struct
import subprocess
import sys

# What is still to be done in the new network: "set up" or, as the user who began, nothing.
STAGE = "STATUSD_BENCH_STAGE"
QUEUE = "/proc/sys/net/unix/max_dgram_qlen"
# The value that systemd writes at boot (src/core/main.c); the kernel's own 10 blocks a sender of datagrams all the time.
QUEUE_LENGTH = 512
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def enter():
    """Restarts this program in a network of its own, if that is allowed; once there, configures it."""
    stage = os.environ.get(STAGE)
    if stage is None:
        user = f"{os.geteuid()} {os.getegid()}"
        command = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            restart(command, f"set up for {user}")
        with open(QUEUE) as file:
            print(f"benchmarks: in the host's network; a datagram socket holds {int(file.read())} messages there",
                  file=sys.stderr)
    elif stage.startswith("set up"):
        set_up()
        user, group = stage.split()[-2:]
        # In the new namespace this user is root, which is not what is measured.
        if user != "0":
            restart(["unshare", "--user", f"--map-user={user}", f"--map-group={group}"], "done")


def restart(command, stage):
    os.execvpe(command[0], [*command, sys.executable, *sys.argv], {**os.environ, STAGE: stage})


def set_up():
    with open(QUEUE, "w") as file:
        file.write(str(QUEUE_LENGTH))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def leave_root():
    """Becomes the user nobody if this is root, and returns the name of the user that is measured."""
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setresgid(nobody.pw_gid, nobody.pw_gid, nobody.pw_gid)
        os.setresuid(nobody.pw_uid, nobody.pw_uid, nobody.pw_uid)
        os.environ.update(USER=nobody.pw_name, LOGNAME=nobody.pw_name, HOME="/")
    return pwd.getpwuid(os.geteuid()).pw_name
