# SPDX-License-Identifier: Apache-2.0
"""The page at all sizes, and by the rules of accessibility."""

import pathlib

from driver import page
from driver.page import js, load, only, until
from harness.expect import Skip, equal
from harness.runner import test

VIEWS = ("", "web", "?kiosk", "web?range=quarter&at=2026-11-20T00:00:00.000Z")


@test("no view scrolls sideways, from 320 pixels to a wall", limit=120)
def _():
    # A window of Firefox is at least 450 pixels wide.
    narrowest = 320 if page.browser.name == "chromium" else 500
    for path in VIEWS[:2] + VIEWS[3:]:
        load(path)
        for width in (320, 360, 390, 600, 768, 1024, 1280, 1920, 3840):
            if width < narrowest:
                continue
            page.browser.resize(width, 800)
            until(f"innerWidth === {width}")
            found = js("document.documentElement.scrollWidth")
            assert found <= width, f"/{path} is {found} pixels wide at {width}"


# Notes what the policy forbade, in Chromium also before now.
NOTE_VIOLATIONS = """
    window.violations = [];
    const note = reports => window.violations.push(...reports.map(report => report.body.blockedURL));
    if (window.ReportingObserver) new ReportingObserver(note, {types: ['csp-violation'], buffered: true}).observe();
    document.addEventListener('securitypolicyviolation', event => window.violations.push(event.blockedURI));
"""


@test("nothing violates the content security policy")
def _():
    for path in VIEWS:
        load(path)
        page.browser.run(NOTE_VIOLATIONS)
        until("document.querySelector('.strip button')")
        page.browser.run("document.querySelector('.strip button:last-child').click()")
        until("document.querySelectorAll('#detail .changes tr').length")
        equal(js("window.violations"), [])


@test("the icon and the title follow the worst level")
def _():
    load()
    until("document.querySelector('link[rel=icon]').href.endsWith('icon-critical.svg')")
    assert "critical" in js("document.title")


@test("the kiosk shows all servers without scrolling")
def _():
    load("?kiosk", 1920, 1080)
    until("document.documentElement.scrollHeight <= innerHeight && document.documentElement.style.fontSize")


@test("names that are paths or schemes have addresses of their own")
def _():
    load()
    for name, address in (("db:1", "./db%3A1"), ("events", "./?server=events"), ("page.js", "./?server=page.js")):
        page.stage.do("post", server=name, level="ok", text="fine")
        until("[...document.querySelectorAll('.name')].some(link => link.textContent === arguments[0])", name)
        equal(js("[...document.querySelectorAll('.name')].find(link => link.textContent === arguments[0])"
                 ".getAttribute('href')", name), address)
    load("?server=events")
    until("document.querySelector('#detail h2').textContent.startsWith('events')")


@test("members stand below their group; a server in trouble says behind which other it is")
def _():
    load()
    equal(js("[...document.querySelectorAll('details:has(ul[aria-label=pair]) .row')].map(row => row.row.name)"),
          ["pair", "server-10", "server-11"])
    equal(js("document.querySelector('details:has(ul[aria-label=pair]) h2').textContent"), "pair 2 servers")
    page.stage.post("server-0", "critical", "down")
    until("[...document.querySelectorAll('.attention .row')].some(row => row.textContent.includes('behind web'))")
    page.stage.post("server-0", "ok", "fine")
    until("![...document.querySelectorAll('.row')].some(row => row.textContent.includes('behind web'))")


@test("rows are in order after many changes: trouble first, the worst first")
def _():
    names = page.stage.takers()[:12]
    load()
    for number in range(120):
        level = ("ok", "critical", "warning", "unknown")[number % 4]
        page.stage.post(names[number * 5 % 12], level, f"change {number}")
    until("[...document.querySelectorAll('.row .text')].some(text => text.textContent === 'change 119')")
    order = ["critical", "unknown", "warning"]
    rows = js("""[...document.querySelectorAll('.attention .row')].map(row =>
        [row.classList.contains('silenced'), row.className.match(/critical|unknown|warning/)?.[0], row.row.name])""")
    equal(rows, sorted(rows, key=lambda row: (row[0], order.index(row[1]), row[2])))
    for name in names:
        page.stage.post(name, "ok", "fine")
    page.stage.post(names[0], "critical", "down")


# The rules of WCAG 2.2 AA and what axe-core calls best practice; what it finds, in short.
AXE = """
    const done = arguments[0];
    const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    axe.run(document, {runOnly: {type: 'tag', values}, rules: {'target-size': {enabled: true}}}).then(result => done(
        result.violations.map(({id, impact, nodes}) => `${id} (${impact}), ${nodes.length} times: ${nodes[0].html}`)));
"""


def accessible(path, what="", **size):
    """Runs axe-core on a view; nothing may be found."""
    if not page.options.axe:
        raise Skip("needs --axe")
    if path is not None:
        load(path, **size)
        until("document.querySelectorAll('.strip button').length")
    page.browser.run(pathlib.Path(page.options.axe).read_text())
    equal(page.browser.wait_for(AXE), [], what or f"/{path}")


@test("axe-core finds nothing in the list, a detail, a cell, the kiosk and on a phone", limit=180)
@only("chromium")  # in Firefox it takes ten times as long
def _():
    for path in VIEWS:
        accessible(path, width=1920, height=1080)
    accessible("", width=320)


@test("axe-core finds nothing in the dark and when disconnected", limit=120)
@only("chromium")
def _():
    page.browser.prefer("dark")
    try:
        accessible("")
        accessible("web", width=320)
        page.stage.do("freeze")
        until("document.querySelector('#banner').textContent")
        accessible(None, "disconnected")
    finally:
        page.stage.do("thaw")
        page.browser.prefer("light")
