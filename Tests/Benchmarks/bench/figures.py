# SPDX-License-Identifier: Apache-2.0
"""Figures of several rounds: medians with their spread, ratios, and tables."""

import statistics


def median(values):
    return statistics.median(values)


def number(value):
    """A number with three significant digits."""
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    if value >= 1e4:
        return f"{value / 1e3:.0f} k"
    return f"{value:.3g}"


def spread(values):
    """The median, with the minimum and maximum in brackets."""
    return f"{number(median(values))} ({number(min(values))}–{number(max(values))})"


def ratio(values, base):
    return f"{median(values) / median(base):.2f} ×"


def table(header, rows):
    """A Markdown table; numbers are aligned right."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
