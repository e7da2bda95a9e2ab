# SPDX-License-Identifier: Apache-2.0
"""What the page costs."""

import re
import statistics
import time

from driver import page, stage
from driver.page import js, load, only, until
from harness.expect import equal
from harness.runner import test

FILES = ("", "page.css", "page.js")


@test("the page is at most 64,000 bytes, and loads nothing from elsewhere")
def _():
    sizes = {name: len(page.stage.get(name)) for name in FILES}
    assert sum(sizes.values()) <= 64_000, sizes
    for name in FILES:
        equal(re.findall(rb"(?:https?:)?//[a-z]", page.stage.get(name)), [], name)


@test("500 servers take less than 12,000 elements, and all their changes come to the screen", limit=120)
@only("chromium")
def _():
    large = stage.Stage(page.options.stage, servers=500)
    try:
        paints = []
        for _ in range(5):
            load("?range=quarter", address=large.address)
            paints.append(js("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        equal(js("document.querySelectorAll('.row').length"), 500)
        assert js("document.querySelectorAll('*').length") < 12_000, "too many elements"
        delays = _delays(large)
        paint, delay = statistics.median(paints), statistics.median(delays)
        late = ", LATE" if paint > 300 or delay > 50 else ""
        print(f"     first paint {paint:.0f} ms, change {delay:.0f} ms, "
              f"95 %: {sorted(delays)[int(len(delays) * .95)]:.0f} ms{late}")
    finally:
        large.close()


def _delays(large):
    """Posts changes, and measures how long each takes to be in a frame."""
    names = large.takers()
    page.browser.run("""window.delays = {};
        new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => {
            for (const text of document.querySelectorAll('.row .text')) {
                const at = /^at (\\d+)$/.exec(text.textContent)?.[1];
                if (at) window.delays[at] ??= Date.now() - at;
            }
        }))).observe(document.querySelector('#groups'), {subtree: true, childList: true, characterData: true})""")
    for number in range(60):
        large.post(names[number * 7 % len(names)], ("ok", "critical")[number % 2], f"at {int(time.time() * 1000)}")
        time.sleep(0.03)
    until("Object.keys(window.delays).length >= 60")
    return list(js("window.delays").values())


@test("a tab does not grow with a day of updates", limit=180)
@only("chromium")
def _():
    load()
    names = page.stage.takers()

    def changes(count):
        for number in range(count):
            page.stage.post(names[number % 20], ("ok", "warning", "critical")[number % 3], f"change {number}")
        page.stage.post("web", "ok", f"after {count}")
        until("[...document.querySelectorAll('.text')].some(text => text.textContent === arguments[0])",
              f"after {count}")
        return page.browser.measurements()

    # At first, the browser still compiles what runs often.
    before = changes(6000)
    after = changes(6000)
    for what, most in (("JSHeapUsedSize", 1.15), ("Nodes", 1.1), ("JSEventListeners", 1.1)):
        assert after[what] <= before[what] * most, f"{what} grew from {before[what]} to {after[what]}"
    print("     " + ", ".join(f"{what} {before[what]:.0f} to {after[what]:.0f}"
                              for what in ("JSHeapUsedSize", "Nodes", "JSEventListeners")))
