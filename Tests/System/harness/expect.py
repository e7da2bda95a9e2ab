# SPDX-License-Identifier: Apache-2.0
"""Assertions. They are retried until they hold; nothing waits a fixed time."""

import time

PATIENCE = 15.0
"""The seconds after which a retried assertion fails; far more than it ever needs."""


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
    """Compares two values; a failure shows both."""
    assert found == wanted, f"{about + ': ' if about else ''}found {found!r}, wanted {wanted!r}"


def contains(text, *parts):
    """Each of `parts` occurs in `text`."""
    for part in parts:
        assert part in text, f"no {part!r} in {text if len(text) < 2000 else '… ' + text[-2000:]!r}"


def one_sentence(result, status):
    """Checks that a command failed with this exit status and one line, without a stack trace; returns the line."""
    equal(result.status, status, f"exit status of {result.command} which said {result.err!r}")
    lines = result.err.strip().splitlines()
    equal(len(lines), 1, f"lines of {result.err!r}")
    for trace in ("Fatal error", "Stack dump", "Thread 0 crashed", "Swift.", "errorDescription", "Optional("):
        assert trace not in result.err, result.err
    return lines[0]
