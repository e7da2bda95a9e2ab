# SPDX-License-Identifier: Apache-2.0
"""What an update costs the daemon, counted: instructions by callgrind, and system calls by strace.

Both are nearly the same on every run, whatever else the machine does.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

from .processes import BUILD, ROOT, STATUSD, receive, statusd

FILE = ROOT / "Tests" / "Benchmarks" / "instructions.json"
NAMED = BUILD / "statusd"
SLOW_CLOCK = BUILD / "slow_clock.so"
UPDATES = 4000
# The minimum of so many runs counts: the order of the threads adds up to a tenth to a run, and never reduces it.
RUNS = 3
# The allowed increase, and that of the stages of an update: callgrind's assignment of code to stages depends on the
# processor's model.
TOLERANCE = 0.02
AREA_TOLERANCE = 0.25
SINGLE_UPDATES = 1000
# The stages of an update, each named by the function whose calls it consists of.
AREAS = {
    "an update from the socket to the stream": None,
    "handling a call": "Varlink.ServerConnection.(handle in",
    "decoding a post's parameters": "StatusInterface.MonitorInterface.PostParameters.init(from:",
    "posting to the monitor": "StatusMonitor.StatusMonitor.post(_: StatusModel.StatusText",
    "the journal's account of it": "StatusDaemon.ChangeRecorder.read()",
    "writing it to a stream": "StatusDaemon.EventStream.(produce in",
    "encoding it": "StatusDaemon.EventEncoder.write(_:",
}


def run_updates(daemon, count):
    """Posts updates to a server with a watcher, which reads all of them."""
    watch = {"method": "org.statusd.monitor.Watch", "parameters": {"server": "srv42"}, "more": True}
    call = (
        '{{"method":"org.statusd.monitor.Post","parameters":{{"server":"srv42",'
        '"text":"Signed In as operator (session {:010})"}},"oneway":true}}\0')
    with daemon.connect() as watcher, daemon.connect() as poster:
        watcher.sendall(json.dumps(watch).encode() + b"\0")
        receive(watcher)
        last = f"session {count - 1:010}".encode()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            events = pool.submit(read_until, watcher, last)
            poster.sendall("".join(call.format(number) for number in range(count)).encode())
            # Omitted updates were not encoded either, and would make an update seem cheaper.
            if events.result() != count:
                raise SystemExit(f"benchmarks: the stream had {events.result()} events of {count}; run this again on a quieter machine")


def read_until(connection, text):
    """The number of messages up to the one that contains this text."""
    rest, count = b"", 0
    while text not in rest:
        data = connection.recv(1 << 16)
        if not data:
            raise SystemExit("benchmarks: statusd closed the stream")
        count += data.count(b"\0")
        rest = (rest + data)[-4096:]
    return count


def run_single_updates(daemon, way, count):
    """Sends updates to srv42, each after a watcher has read the one before."""
    with daemon.connect() as watcher, contextlib.ExitStack() as stack:
        watch = {"method": "org.statusd.monitor.Watch", "parameters": {"server": "srv42"}, "more": True}
        watcher.sendall(json.dumps(watch).encode() + b"\0")
        receive(watcher)
        if way == "call":
            connection = stack.enter_context(daemon.connect())

            def send(text):
                call = {"method": "org.statusd.monitor.Post", "parameters": {"server": "srv42", "text": text}, "oneway": True}
                connection.sendall(json.dumps(call).encode() + b"\0")
        else:
            sender = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            sender.connect(str(daemon.directory / "notify" / "srv42"))

            def send(text):
                sender.send(b"STATUS=" + text.encode())
        for number in range(count):
            text = f"Signed In as operator (session {number:010})"
            send(text)
            while text.encode() not in watcher.recv(1 << 16):
                pass


def single(way, wrapper):
    """A daemon for single updates: without a state, which would be saved at times of its own."""
    kind = {"call": "push", "datagram": "notify"}[way]
    return statusd(
        binary=NAMED, wrapper=wrapper, arguments=["--state", "none"],
        configuration=f"servers: {{ srv42: {{ {kind}: true }} }}\n")


def instructions_of_single(way):
    """The instructions of one update."""
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/callgrind"
        with single(way, callgrind(output)) as daemon:
            run_single_updates(daemon, way, 100)
            time.sleep(1)
            control(daemon, "on")
            run_single_updates(daemon, way, SINGLE_UPDATES)
            control(daemon, "off")
        totals = re.search(r"^\s*([\d,]+) .*PROGRAM TOTALS", annotated(output), re.MULTILINE)
        return round(int(totals[1].replace(",", "")) / SINGLE_UPDATES)


def system_calls_of_single(way):
    """The system calls of one update: the difference between a run with some updates and one with more."""
    few, many = (system_calls(way, count) for count in (100, 100 + SINGLE_UPDATES))
    return round((many - few) / SINGLE_UPDATES)


def system_calls(way, count):
    """All system calls of a daemon that takes so many updates."""
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/strace"
        with single(way, ["strace", "-f", "-c", "-U", "name,calls", "-o", output]) as daemon:
            run_single_updates(daemon, way, count)
            # Strace ends with the daemon, but not the daemon with strace.
            child = pathlib.Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text()
            os.kill(int(child), signal.SIGTERM)
            daemon.process.wait(10)
        return int(re.search(r"^total\s+(\d+)", pathlib.Path(output).read_text(), re.MULTILINE)[1])


def callgrind(output):
    return ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}"]


def control(daemon, state):
    subprocess.run(["callgrind_control", "-i", state, str(daemon.process.pid)], capture_output=True, check=True)


def build():
    """A daemon whose functions callgrind can name, without the rest of the debug information, which valgrind cannot read."""
    BUILD.mkdir(parents=True, exist_ok=True)
    build = ROOT / "packaging" / "build"
    subprocess.run([build, "--with-names"], stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["strip", "--strip-debug", "-o", NAMED, STATUSD], check=True)
    source = pathlib.Path(__file__).with_name("slow_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", SLOW_CLOCK, source], check=True)
    subprocess.run([build], stdout=subprocess.DEVNULL, check=True)


def count():
    """The figures of an update."""
    runs = [count_once(NAMED) for _ in range(RUNS)]
    figures = {area: min(run[area] for run in runs) for area in AREAS}
    for way in "call", "datagram":
        figures[f"a single update by a {way}"] = min(instructions_of_single(way) for _ in range(3))
        figures[f"system calls of a single update by a {way}"] = system_calls_of_single(way)
    return figures


def tolerance(figure):
    """The allowed increase of a figure."""
    return AREA_TOLERANCE if AREAS.get(figure) else TOLERANCE


def count_once(binary):
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/callgrind"
        with statusd(binary=binary, wrapper=callgrind(output), env={"LD_PRELOAD": str(SLOW_CLOCK)}) as daemon:
            daemon.post_to(["srv42"])
            run_updates(daemon, 500)
            time.sleep(1)
            control(daemon, "on")
            run_updates(daemon, UPDATES)
            control(daemon, "off")
        return read(output)


def annotated(output):
    """Callgrind's list of functions, with the instructions of each."""
    command = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", output]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read(output):
    text = subprocess.run(["swift", "demangle"], input=annotated(output), capture_output=True, text=True, check=True).stdout
    figures = {}
    for area, function in AREAS.items():
        pattern = r"^\s*([\d,]+) .*" + (re.escape(function) if function else "PROGRAM TOTALS")
        found = re.search(pattern, text, re.MULTILINE)
        if not found:
            raise SystemExit(f"benchmarks: no calls of {function} in callgrind's output; was it renamed?")
        figures[area] = round(int(found[1].replace(",", "")) / UPDATES)
    return figures


def check():
    """Compares with the figures of the last commit that wrote them; returns how many increased."""
    known, now = json.loads(FILE.read_text()), count()
    dearer = 0
    for name, figure in now.items():
        change = figure / known[name] - 1
        verdict = "ok  "
        if change > tolerance(name):
            verdict, dearer = "FAIL", dearer + 1
        unit = "" if name.startswith("system calls") else " instructions"
        print(f"{verdict} {name}: {figure}{unit}, {change:+.1%} against {known[name]}")
    if dearer:
        print("      If the change is worth it, say so in the commit, and run Tests/Benchmarks/instructions --write")
    print(f"{len(now) - dearer} passed, {dearer} failed, 0 skipped")
    return dearer


def write():
    FILE.write_text(json.dumps(count(), indent=4) + "\n")
