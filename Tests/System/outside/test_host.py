# SPDX-License-Identifier: Apache-2.0
"""disk, memory, pressure, load and process: this host itself, compared with what the kernel and df(1) say."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import subprocess

from harness.attacker import need_root
from harness.daemon import NOBODY, STATUSD, Daemon, readable_binaries, run
from harness.dead_disk import dead_disk
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test


def mount(*arguments):
    """Runs mount(8), or skips the test."""
    need_root()
    result = run("mount", *arguments)
    if result.status != 0:
        raise Skip(f"mount: {result.err.strip()}")


@contextlib.contextmanager
def mounted(*arguments):
    """Mounts a file system for the block; the last argument is the folder, which is created if needed."""
    os.makedirs(arguments[-1], exist_ok=True)
    mount(*arguments)
    try:
        yield pathlib.Path(arguments[-1])
    finally:
        run("umount", "--lazy", arguments[-1])


@contextlib.contextmanager
def ext4(daemon):
    """A small file system of its own."""
    image = daemon.folder / "image"
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    if not shutil.which("mkfs.ext4", path="/usr/sbin:/sbin:/usr/bin") or run("/usr/sbin/mkfs.ext4", "-q", image).status != 0:
        raise Skip("mkfs.ext4 is missing")
    with mounted("-o", "loop,errors=remount-ro", image, daemon.folder / "disk") as disk:
        yield disk


def refreshed(daemon, server):
    """The status after a check: the level, the text, and the values by name."""
    daemon.ctl("refresh", server)
    state = daemon.describe(server)
    return state["status"]["level"], state["status"]["text"], {value["name"]: value["value"] for value in state.get("values", [])}


def fields(path):
    """The numbers of a file of the kernel with a name at the beginning of each line."""
    return {line.split()[0].rstrip(":"): line.split()[1:] for line in open(path, encoding="utf-8")}


@test("a disk that fills up becomes warning and critical at the percentages of df, and ok again")
def filling():
    need_root()
    with Daemon(lambda folder: f"defaults: {{ interval: 1h }}\nservers: {{ disk: {{ disk: {folder}/disk }} }}\n") as daemon, \
            mounted("-t", "tmpfs", "-o", "size=10M,nr_inodes=100", "none", daemon.folder / "disk") as disk:
        for megabytes, level in ((5, "ok"), (9, "warning"), (10, "critical"), (1, "ok")):
            with open(disk / "file", "wb") as file:
                file.write(bytes(megabytes * (1 << 20) - (4096 if megabytes == 10 else 0)))
            percentage = run("df", "--output=pcent", disk).out.split()[-1]
            found, text, values = refreshed(daemon, "disk")
            equal((found, text.split(" used")[0]), (level, f"{percentage} of 10 MB"))
            state = os.statvfs(disk)
            equal((values["size"], values["free"]), (state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize))
        for number in range(90):
            (disk / str(number)).touch()
        contains(daemon.done("refresh", "disk"), "% of inodes used [warning]")


@test("a file system that takes no writes after an error or a remount is critical; a read-only sandbox is not")
def read_only():
    need_root()
    with Daemon(lambda folder: f"defaults: {{ interval: 1h }}\nservers: {{ disk: {{ disk: {folder}/disk }} }}\n", start=False,
                prefix=("unshare", "-m", "--propagation", "slave", "sh", "-c", 'mount -o remount,bind,ro "$0" && exec "$@"')) as daemon, ext4(daemon) as disk:
        daemon.prefix += (disk,)
        daemon.start()
        equal(refreshed(daemon, "disk")[0], "ok")
        mount("-o", "remount,ro", disk)
        level, text, _ = refreshed(daemon, "disk")
        equal((level, text.split(";")[0]), ("critical", "read-only"))
        mount("-o", "remount,rw", disk)
        equal(refreshed(daemon, "disk")[0], "ok")
        device = run("findmnt", "-no", "SOURCE", disk).out.strip().rpartition("/")[2]
        with contextlib.suppress(OSError):
            pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")
            level, text, _ = refreshed(daemon, "disk")
            equal((level, text.split(";")[0]), ("critical", "read-only"))


@test("a disk that must be mounted is critical while it is not, and so is one that does not exist")
def missing():
    need_root()
    with Daemon(lambda folder: f"defaults: {{ interval: 1h }}\nservers:\n  disk: {{ disk: {{ path: '{folder}/my disk', mounted: true }} }}\n"
                f"  below: {{ disk: {{ path: '{folder}/my disk/a', mounted: true }} }}\n  none: {{ disk: {folder}/none }}\n") as daemon:
        path = daemon.folder / "my disk"
        equal(refreshed(daemon, "disk")[:2], ("critical", f"no such file or directory: {path}"))
        path.mkdir()
        equal(refreshed(daemon, "disk")[:2], ("critical", f"nothing is mounted at {path}"))
        with mounted("-t", "tmpfs", "-o", "size=1M", "none", path):
            (path / "a").mkdir()
            equal(refreshed(daemon, "disk")[0], "ok")
            equal(refreshed(daemon, "below")[:2], ("critical", f"nothing is mounted at {path}/a"))
        equal(refreshed(daemon, "disk")[:2], ("critical", f"nothing is mounted at {path}"))
        equal(refreshed(daemon, "none")[:2], ("critical", f"no such file or directory: {daemon.folder}/none"))


@test("a disk that hangs is critical and delays no other check; so is one whose server has ended")
def unreachable():
    need_root()
    with Daemon(lambda folder: f"defaults: {{ interval: 1h, timeout: 300ms }}\nservers:\n  hangs: {{ disk: {folder}/dead }}\n  gone: {{ disk: {folder}/gone }}\n"
                "  root: { disk: / }\n", start=False) as daemon, dead_disk(daemon.folder / "dead"):
        gone = daemon.folder / "gone"
        gone.mkdir()
        device = os.open("/dev/fuse", os.O_RDWR)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"gone", os.fsencode(gone), b"fuse", 0, f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()) != 0:
            raise Skip("cannot mount with FUSE")
        os.close(device)
        try:
            daemon.start()
            daemon.done("wait", "hangs", "--text", f"the check timed out after 300ms; the disk of {daemon.folder}/dead may not answer", "--timeout", "15s")
            equal(refreshed(daemon, "gone")[:2], ("critical", f"cannot read {gone}: Transport endpoint is not connected"))
            contains(daemon.done("refresh", "root"), " used, ", " free")
        finally:
            run("umount", "--lazy", gone)


@test("memory and load are those of /proc at the same moment")
def numbers():
    with Daemon("defaults: { interval: 1h }\nservers:\n  memory: { memory: { warning: 99%, critical: 100%, swap: 100% } }\n"
                "  load: { load: { over: 1min, warning: 900, critical: 1000 } }\n  full: { memory: { warning: 1%, critical: 1% } }\n") as daemon:
        def same_memory():
            before = fields("/proc/meminfo")
            level, text, values = refreshed(daemon, "memory")
            after = fields("/proc/meminfo")
            available = sorted(int(numbers["MemAvailable"][0]) * 1024 for numbers in (before, after))
            equal((level, values["total"]), ("ok", int(before["MemTotal"][0]) * 1024))
            contains(text, " of ", "available")
            equal("swap" in values, int(before["SwapTotal"][0]) > 0)
            equal("pressure" in values, os.path.exists("/proc/pressure/memory"))
            return available[0] * 0.99 <= values["available"] <= available[1] * 1.01

        def same_load():
            before = open("/proc/loadavg", encoding="ascii").read().split()[0]
            _, text, values = refreshed(daemon, "load")
            contains(text, "load ", " per processor")
            return abs(values["load"] * os.sysconf("SC_NPROCESSORS_ONLN") - float(before)) < 0.006
        eventually(same_memory, "the memory of /proc/meminfo")
        eventually(same_load, "the load of /proc/loadavg")
        equal(refreshed(daemon, "full")[0], "critical")


@test("the kernel tells the daemon of pressure, long before the next check", limit=60)
def pressure():
    try:
        with open("/proc/pressure/cpu", "r+b", buffering=0) as file:
            file.write(b"some 20000 2000000\0")
    except OSError as error:
        raise Skip(f"/proc/pressure/cpu: {error.strerror}") from None
    with Daemon("defaults: { interval: 1h }\nservers:\n  cpu: { pressure: { resource: cpu, warning: 1%, critical: 1%, over: 10s } }\n"
                "  io: { pressure: { resource: io, warning: 100%, critical: 100% } }\n") as daemon:
        contains(refreshed(daemon, "io")[1], "io ", "% stalled over 1 min")
        run_before = refreshed(daemon, "cpu") and daemon.describe("cpu")["check"]["startedAt"]
        burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * os.sysconf("SC_NPROCESSORS_ONLN") + 1)]
        try:
            # The next scheduled check is in an hour.
            eventually(lambda: daemon.describe("cpu")["check"]["startedAt"] > run_before and daemon.describe("cpu")["status"]["level"] == "critical", "pressure is noticed", 30)
            contains(daemon.text("cpu"), "cpu ", "stalled over 10 s; load ", " per processor")
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        before = daemon.descriptors()
        daemon.file.write_text("servers: { a: { push: true } }\n")
        daemon.done("reload")
        eventually(lambda: daemon.descriptors() < before, "the triggers are closed")
        daemon.assert_alive()


@test("processes are counted by name and user while they run; a dead one and one of another user are not")
def processes():
    need_root()
    with Daemon(lambda folder: f"defaults: {{ interval: 1h }}\nservers:\n  nap: {{ process: statusd-nap }}\n  mine: {{ process: {{ name: statusd-nap, user: root }} }}\n"
                "  none: { process: { name: statusd-nap, count: 0 } }\n  two: { process: { name: statusd-nap, count: 2..3 } }\n") as daemon, contextlib.ExitStack() as ended:
        program = daemon.folder / "statusd-nap"
        shutil.copy("/bin/sleep", program)

        def start(**options):
            process = subprocess.Popen([program, "1h"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
            ended.callback(process.wait)
            ended.callback(process.kill)
            eventually(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "statusd-nap\n", "it runs")
            return process

        equal(refreshed(daemon, "nap")[:2], ("critical", "0 processes, expected at least 1"))
        equal(refreshed(daemon, "none")[:2], ("ok", "0 processes"))
        first = start()
        level, text, values = refreshed(daemon, "nap")
        resident = int(fields(f"/proc/{first.pid}/status")["VmRSS"][0]) * 1024
        equal((level, text.split(",")[0], values), ("ok", "1 process", {"processes": 1, "memory": resident}))
        second = start(user=NOBODY)
        equal(refreshed(daemon, "two")[0], "ok")
        equal(refreshed(daemon, "mine")[2]["processes"], 1)
        equal(refreshed(daemon, "none")[:2], ("critical", "2 processes, expected 0"))
        first.kill()
        eventually(lambda: fields(f"/proc/{first.pid}/status")["State"][0] == "Z", "a zombie")
        equal(refreshed(daemon, "nap")[2]["processes"], 1)
        equal(refreshed(daemon, "mine")[:2], ("critical", "0 processes, expected at least 1"))
        for process in (first, second):
            process.kill()
            process.wait()
        equal(refreshed(daemon, "nap")[0], "critical")


HUGE_ARGUMENTS = """
import ctypes, mmap, pathlib, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(15, sys.argv[1].encode(), 0, 0, 0)  # PR_SET_NAME
libc.mmap.restype = ctypes.c_void_p
size = 16 << 30
begin = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, ctypes.c_long(0))
stat = dict(enumerate(pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split(), 3))
libc.sbrk.restype = ctypes.c_void_p
# start and end of the code, of the data, of the heap, and of the stack, the arguments, and the environment (prctl_mm_map).
places = [*(int(stat[n]) for n in (26, 27, 45, 46, 47)), libc.sbrk(0), int(stat[28]), begin, begin + size, int(stat[50]), int(stat[51])]
struct = (ctypes.c_uint64 * 13)(*places, 0, 0xFFFFFFFF << 32)
assert libc.prctl(35, 14, ctypes.byref(struct), ctypes.c_ulong(ctypes.sizeof(struct)), 0) == 0, ctypes.get_errno()  # PR_SET_MM_MAP
print("ready", flush=True)
sys.stdin.read()
"""


@test("a process of another user with endless arguments neither counts nor delays the count")
def endless_arguments():
    need_root()
    name = "statusd-long-name-nap"
    with Daemon(f"defaults: {{ interval: 1h }}\nservers: {{ mine: {{ process: {{ name: {name}, user: root }} }}, all: {{ process: {name} }} }}\n") as daemon:
        script = [shutil.which("python3", path="/usr/bin:/bin"), "-c", HUGE_ARGUMENTS, name[:15]]
        with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=NOBODY, group=NOBODY, extra_groups=[]) as huge:
            try:
                equal(huge.stdout.readline(), b"ready\n")
                for server in ("mine", "all"):
                    equal(refreshed(daemon, server)[:2], ("critical", "0 processes, expected at least 1"))
            finally:
                huge.kill()


@test("if /proc hides the processes of other users, their number is unknown and not 0")
def hidden_processes():
    need_root()
    with Daemon(start=False) as daemon:
        readable_binaries(daemon.folder)
        call = {"kind": "process", "settings": {"name": "init", "least": 0, "most": 0}}

        def answer(options):
            script = f'mount -t proc {options} proc /proc && exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$0" host-check'
            done = subprocess.run(["unshare", "-m", "sh", "-c", script, daemon.folder / os.path.basename(STATUSD)], input=json.dumps(call),
                                  capture_output=True, text=True, timeout=30, check=False)
            if "mount:" in done.stderr:
                raise Skip(done.stderr.strip())
            return json.loads(done.stdout)

        contains(answer("")["text"], "process")
        equal("level" in answer(""), True)
        hidden = answer("-o hidepid=2")
        equal("level" in hidden, False)
        contains(hidden["text"], "cannot see the processes of other users in /proc", "hidepid")
