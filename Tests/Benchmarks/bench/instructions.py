# SPDX-License-Identifier: Apache-2.0
"""The daemon's instructions per update, counted by callgrind: nearly the same on every run, whatever else the machine does."""

import concurrent.futures
import json
import re
import subprocess
import tempfile
import time

from .processes import BUILD, ROOT, STATUSD, receive, statusd

FILE = ROOT / "Tests" / "Benchmarks" / "instructions.json"
NAMED = BUILD / "statusd"
UPDATES = 4000
# The minimum of so many runs counts: the order of the threads adds up to a tenth to a run, and never reduces it.
RUNS = 7
# The allowed increase of the total and of one area. Callgrind's assignment of code to areas differs between
# models of processor by up to a sixth of an area, while the total stays within two hundredths.
TOLERANCE = 0.1
AREA_TOLERANCE = 0.25
# The stages of an update, each named by the function whose calls it consists of.
AREAS = {
    "an update from the socket to the stream": None,
    "handling a call": "Varlink.ServerConnection.(handle in",
    "decoding a post's parameters": "StatusInterface.PostParameters.init(from:",
    "posting to the monitor": "StatusMonitor.StatusMonitor.post(_: StatusModel.StatusText",
    "the journal's account of it": "StatusDaemon.ChangeRecorder.(wake in",
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


def control(daemon, state):
    subprocess.run(["callgrind_control", "-i", state, str(daemon.process.pid)], capture_output=True, check=True)


def build():
    """A daemon whose functions callgrind can name, without the rest of the debug information, which valgrind cannot read."""
    BUILD.mkdir(parents=True, exist_ok=True)
    build = ROOT / "packaging" / "build"
    subprocess.run([build, "--with-names"], stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["strip", "--strip-debug", "-o", NAMED, STATUSD], check=True)
    subprocess.run([build], stdout=subprocess.DEVNULL, check=True)


def count():
    """Instructions per update, by area."""
    runs = [count_once(NAMED) for _ in range(RUNS)]
    return {area: min(run[area] for run in runs) for area in AREAS}


def count_once(binary):
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/callgrind"
        wrapper = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}"]
        with statusd(binary=binary, wrapper=wrapper) as daemon:
            daemon.post_to(["srv42"])
            run_updates(daemon, 500)
            time.sleep(1)
            control(daemon, "on")
            run_updates(daemon, UPDATES)
            control(daemon, "off")
        return read(output)


def read(output):
    done = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--threshold=100", output], capture_output=True, text=True, check=True)
    text = subprocess.run(["swift", "demangle"], input=done.stdout, capture_output=True, text=True, check=True).stdout
    figures = {}
    for area, function in AREAS.items():
        pattern = r"^\s*([\d,]+) .*" + (re.escape(function) if function else "PROGRAM TOTALS")
        found = re.search(pattern, text, re.MULTILINE)
        if not found:
            raise SystemExit(f"benchmarks: no calls of {function} in callgrind's output; was it renamed?")
        figures[area] = round(int(found[1].replace(",", "")) / UPDATES)
    return figures


def check():
    """Compares with the figures of the last commit that wrote them; returns how many areas got more expensive."""
    known, now = json.loads(FILE.read_text()), count()
    dearer = 0
    for area, figure in now.items():
        change = figure / known[area] - 1
        verdict = "ok  "
        if change > (AREA_TOLERANCE if AREAS[area] else TOLERANCE):
            verdict, dearer = "FAIL", dearer + 1
        print(f"{verdict} {area}: {figure} instructions, {change:+.1%} against {known[area]}")
    if dearer:
        print("      If the change is worth it, say so in the commit, and run Tests/Benchmarks/instructions --write")
    print(f"{len(now) - dearer} passed, {dearer} failed, 0 skipped")
    return dearer


def write():
    FILE.write_text(json.dumps(count(), indent=4) + "\n")
