# SPDX-License-Identifier: Apache-2.0
"""The page without a pointer."""

from driver import page
from driver.page import js, load, until
from harness.expect import equal
from harness.runner import test

# Names what has the focus.
FOCUS = """(() => {
    const node = document.activeElement, strip = node.closest('.strip');
    if (strip) return `strip ${strip.closest('#hero') ? 'selected' : strip.dataset.server}`;
    return node === document.body ? 'body' : node.id || node.dataset.opens || node.value || node.textContent;
})()"""


@test("each control, server and strip is one tab stop, and Tab reaches all of them")
def _():
    load()
    stops = []
    for _ in range(150):
        page.browser.press("Tab")
        stops.append(js(FOCUS))
        if stops[-1] == "body" or len(stops) > 3 and stops[-1] == stops[0]:
            break
    for server in js("[...document.querySelectorAll('.row .name')].map(link => link.textContent)"):
        # The selected server has a second link, on top.
        assert stops.count(server) in (1, 2), f"{server} is {stops.count(server)} tab stops"
        equal(stops.count(f"strip {server}"), 1, f"tab stops of the strip of {server}")
    for control in ("filter", "refresh-all", "range"):
        assert control in stops, f"{control} is not in {stops}"


@test("arrow keys move in a strip, whose cells have names, and Enter opens the changes of a cell")
def _():
    load()
    until("document.querySelectorAll('.row .strip button').length")
    page.browser.run("document.querySelector('.row .strip [tabindex=\"0\"]').focus()")
    names = []
    for key in ("Left", "Left", "Home", "Right", "End"):
        page.browser.press(key)
        names.append(js("document.activeElement.ariaLabel"))
    equal(len(set(names)), 5, f"different cells in {names}")
    for name in names:
        assert any(level in name for level in ("ok", "warning", "critical", "unknown", "no status")), name
    strips = "[...document.querySelectorAll('.strip')]"
    stops = js(strips + ".map(strip => strip.querySelectorAll('[tabindex=\"0\"]').length)")
    assert max(stops) == 1, "a strip has two tab stops"
    page.browser.press("Enter")  # the cell of now
    until("document.activeElement.closest('#detail h3')?.textContent.startsWith('Changes: ')")
    until("document.querySelectorAll('#detail .changes tr').length")
    assert "at=" in js("location.search")
    page.browser.press("Escape")
    until("document.querySelector('#detail').hidden")
    until("document.activeElement.matches('.row .name')")


@test("the filter finds a server by its name and its text, says how many it found, and Escape ends it")
def _():
    page.stage.post("web", "ok", "a text like no other")
    load()
    until("[...document.querySelectorAll('.row .text')].some(text => text.textContent === 'a text like no other')")
    page.browser.run("document.querySelector('#filter').focus()")
    page.browser.press("like no other")
    until("document.querySelectorAll('.row:not([hidden])').length === 1")
    until("/^1 of \\d+ servers$/.test(document.querySelector('#said').textContent)")
    page.browser.press("Escape")
    until("!document.querySelector('.row[hidden]')")


@test("a level button shows only the servers with that level")
def _():
    load()
    page.browser.run("document.querySelector('#counts .critical').focus()")
    page.browser.press("Enter")
    until("document.querySelector('.row.critical') && !document.querySelector('.row:not([hidden], .critical)')")
    equal(js("document.querySelector('#counts .critical').ariaPressed"), "true")


@test("Enter folds a group, which hides no trouble")
def _():
    load()
    page.browser.run("document.querySelector('summary').focus()")
    page.browser.press("Enter")
    until("!document.querySelector('details').open")
    equal(js("document.querySelector('details :is(.row.critical, .row.warning, .row.unknown)')"), None)


@test("a refresh by keyboard has an indicator as long as it runs")
def _():
    server = next(server["name"] for server in page.stage.servers() if server["refreshable"])
    load(server)
    until("!document.querySelector('#detail nav button:last-child').disabled")
    page.browser.run("document.querySelector('#detail nav button:last-child').focus()")
    page.browser.press("Enter")
    until("document.querySelector('#detail nav button:last-child').ariaBusy === 'true'")
    until("document.querySelector('#detail nav button:last-child').ariaBusy !== 'true'")


@test("what cannot be refreshed has a disabled button")
def _():
    server = next(server["name"] for server in page.stage.servers() if not server["refreshable"])
    load(server)
    until("document.querySelector('#detail nav button:last-child').title")
    equal(js("document.querySelector('#detail nav button:last-child').disabled"), True)


@test("the detail can select a server, silence it and end that")
def _():
    page.stage.select("db")
    load("web")
    page.browser.run("document.querySelector('#detail nav button').click()")
    until("document.querySelector('#hero h2 a')?.textContent === 'web'")
    page.browser.run("document.querySelectorAll('#detail nav button')[1].click()")
    until("[...document.querySelectorAll('#detail .tag')].some(tag => tag.textContent.startsWith('silenced until '))")
    page.browser.run("document.querySelectorAll('#detail nav button')[1].click()")
    until("![...document.querySelectorAll('#detail .tag')].some(tag => tag.textContent.startsWith('silenced'))")
