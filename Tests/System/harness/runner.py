# SPDX-License-Identifier: Apache-2.0
"""Collects tests, runs them one after another, prints a line for each and the count at the end."""

import signal
import time
import traceback

from .expect import Skip

TESTS = []


def test(sentence, limit=60, when=True):
    """Marks a function as a test. `sentence` states the behaviour; `limit`: seconds until it counts as hanging;
    `when`: False if the test does not apply to this system (it is then not counted at all)."""

    def register(function):
        if when:
            TESTS.append((function, sentence, limit))
        return function

    return register


class _Hang(BaseException):
    pass


def _on_alarm(*_):
    raise _Hang


def _run_one(function, limit):
    """Returns the outcome and its details."""
    began = time.monotonic()
    signal.alarm(limit)
    try:
        function()
        return "passed", ""
    except Skip as skip:
        return "skipped", str(skip)
    except _Hang:
        return "failed", f"still running after {time.monotonic() - began:.0f} s\n{traceback.format_exc()}"
    except Exception:  # pylint: disable=broad-except
        return "failed", traceback.format_exc()
    finally:
        signal.alarm(0)


def run_all(prefix, only):
    """Runs the tests whose file or sentence contains `only`; returns the exit status."""
    signal.signal(signal.SIGALRM, _on_alarm)
    # A shell makes its background processes ignore SIGINT, and each command would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for function, sentence, limit in TESTS:
        file = function.__module__.rsplit(".", 1)[-1]
        if only and only not in file and only not in sentence:
            continue
        began = time.monotonic()
        outcome, about = _run_one(function, limit)
        counts[outcome] += 1
        seconds = time.monotonic() - began
        mark = {"passed": "ok  ", "failed": "FAIL", "skipped": "SKIP"}[outcome]
        reason = f": {about}" if outcome == "skipped" else ""
        print(f"{mark} {prefix}{file}: {sentence} ({seconds:.1f} s){reason}", flush=True)
        if outcome == "failed":
            print("     " + about.rstrip().replace("\n", "\n     "), flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    return 1 if counts["failed"] or not sum(counts.values()) else 0
