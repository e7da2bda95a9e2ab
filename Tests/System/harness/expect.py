# SPDX-License-Identifier: Apache-2.0
"""Assertions. What becomes true by itself is asked for again and again until it is; nothing waits a fixed time."""

import time

PATIENCE = 15.0
"""Seconds until an assertion that is tried again gives up: far above what is ever needed, so that no timing decides a test."""


class Skip(Exception):
    """Raised by a test that cannot run here, with the reason."""


def eventually(check, why="", patience=PATIENCE):
    """Calls `check` until it returns something true and raises no AssertionError; returns that."""
    end = time.monotonic() + patience
    while True:
        try:
            value = check()
            if value:
                return value
            failure = AssertionError(f"never became true: {why or getattr(check, '__doc__', None) or check}")
        except AssertionError as error:
            failure = error
        if time.monotonic() > end:
            raise failure
        time.sleep(0.02)


def equal(found, wanted, about=""):
    """The one comparison with a message that helps."""
    assert found == wanted, f"{about + ': ' if about else ''}found {found!r}, wanted {wanted!r}"


def contains(text, *parts):
    """Each of `parts` occurs in `text`."""
    for part in parts:
        assert part in text, f"no {part!r} in {text if len(text) < 2000 else '… ' + text[-2000:]!r}"


def one_sentence(result, status):
    """An error as a user should get it: this exit status, one line that says why, nothing of the program's insides."""
    equal(result.status, status, f"exit status of {result.command} which said {result.err!r}")
    lines = result.err.strip().splitlines()
    equal(len(lines), 1, f"lines of {result.err!r}")
    for trace in ("Fatal error", "Stack dump", "Thread 0 crashed", "Swift.", "errorDescription", "Optional("):
        assert trace not in result.err, result.err
    return lines[0]
