# SPDX-License-Identifier: Apache-2.0
"""Collects tests, runs them one after another, prints a line for each and the count at the end."""

import os
import signal
import time
import traceback

from .expect import Skip

TESTS = []


def test(sentence, limit=60, when=True, once=False):
    """Marks a function as a test. `sentence` states the behaviour; `limit`: seconds until it counts as hanging;
    `when`: False if the test does not apply to this system (it is then not counted at all); `once`: whether a second run,
    under another version of systemd, would tell nothing new and cost too much (STATUSD_TEST_AGAIN)."""

    def register(function):
        if when and not (once and os.environ.get("STATUSD_TEST_AGAIN")):
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


def _run(function, sentence, limit, prefix, mark_of_failure):
    """Runs a test and prints its line; returns its outcome."""
    began = time.monotonic()
    outcome, about = _run_one(function, limit)
    seconds = time.monotonic() - began
    mark = {"passed": "ok  ", "failed": mark_of_failure, "skipped": "SKIP"}[outcome]
    reason = f": {about}" if outcome == "skipped" else ""
    print(f"{mark} {prefix}{_file(function)}: {sentence} ({seconds:.1f} s){reason}", flush=True)
    if outcome == "failed":
        print("     " + about.rstrip().replace("\n", "\n     "), flush=True)
    return outcome


def _file(function):
    return function.__module__.rsplit(".", 1)[-1]


def run_all(prefix, only, shard=(1, 1)):
    """Runs the tests whose file or sentence contains `only`; returns the exit status.

    A test that fails is run once more at the end, by itself. If it passes then, it is printed as FLAKY and does not fail
    the run. `shard`: which part of how many parts of the tests to run."""
    signal.signal(signal.SIGALRM, _on_alarm)
    # A shell lets its background processes ignore SIGINT, and each command would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failed = []
    chosen = [test for test in TESTS if not only or only in _file(test[0]) or only in test[1]]
    for function, sentence, limit in chosen[shard[0] - 1::shard[1]]:
        outcome = _run(function, sentence, limit, prefix, "RETRY")
        if outcome == "failed":
            failed.append((function, sentence, limit))
        else:
            counts[outcome] += 1
    for function, sentence, limit in failed:
        outcome = _run(function, sentence, limit, prefix, "FAIL")
        counts[outcome] += 1
        if outcome == "passed":
            print(f"FLAKY {prefix}{_file(function)}: {sentence}", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    return 1 if counts["failed"] or not sum(counts.values()) else 0
