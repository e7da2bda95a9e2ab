# SPDX-License-Identifier: Apache-2.0
"""What the page says while it hears nothing, and afterwards."""

import time

from driver import page
from driver.page import expected_rows, js, load, rows, until
from harness.expect import equal, eventually
from harness.runner import test

# Notes the time at which the page first says that it is disconnected.
NOTE_BANNER = """
    window.bannerAt = 0;
    new MutationObserver(() => { window.bannerAt ||= document.querySelector('#banner').textContent && Date.now(); })
        .observe(document.querySelector('#banner'), {childList: true, characterData: true, subtree: true});
"""


def disconnect(verb, undo):
    """Cuts the page off and connects it again; checks what it shows."""
    load()
    page.browser.run(NOTE_BANNER)
    began = time.time()
    page.stage.do(verb)
    try:
        banner = until("window.bannerAt && document.querySelector('#banner').textContent")
        assert banner.startswith("Disconnected since "), banner
        delay = js("window.bannerAt") / 1000 - began
        print(f"     the banner came after {delay:.2f} s" + (", LATE" if delay > 2 else ""))
        contains_no_colour()
        assert js("document.title").startswith("disconnected"), js("document.title")
        assert js("document.querySelector('link[rel=icon]').href").endswith("icon-none.svg")
        equal(js("[...document.querySelectorAll('#refresh-all, #detail nav button')].every(b => b.disabled)"), True)
        ages = js("[...document.querySelectorAll('.row .age')].map(age => age.textContent)")
        time.sleep(1.2)
        equal(js("[...document.querySelectorAll('.row .age')].map(age => age.textContent)"), ages, "ages stand still")
    finally:
        page.stage.do(undo)
    until("document.querySelector('#banner').textContent === ''")
    until("document.querySelector('#state').textContent === 'live'")
    page.stage.post("web", "warning", "posted after it came back")
    eventually(lambda: rows() == expected_rows(), "the page equals the list")
    page.stage.post("web", "ok", "fine")


def contains_no_colour():
    """Each shape and cell on the screen is grey: its channels differ little."""
    colours = js("""[...document.querySelectorAll('.shape, .strip button')].filter(node => node.offsetParent)
        .map(node => getComputedStyle(node).getPropertyValue('--fill'))""")
    for colour in set(colours):
        channels = [int(colour.strip()[index:index + 2], 16) for index in (1, 3, 5)] if colour.startswith("#") else [0]
        assert max(channels) - min(channels) < 40, colour


@test("when statusd is killed, the page says so within 2 s and is grey; afterwards it equals the list")
def _():
    disconnect("stop", "start")


@test("when statusd-web hangs, the page says so within 2 s; afterwards it equals the list")
def _():
    disconnect("freeze", "thaw")


@test("the page is live again without being loaded again")
def _():
    load("web")
    page.browser.run("window.isSame = true")
    page.stage.do("freeze")
    until("document.querySelector('#banner').textContent")
    page.stage.do("thaw")
    until("document.querySelector('#state').textContent === 'live'")
    equal(js("window.isSame"), True)
    until("document.querySelectorAll('#detail .strip button').length === 48")


# Counts how often the page becomes live, or not, in 3 s.
COUNT_STATES = """
    const done = arguments[0], states = [];
    new MutationObserver(() => states.push(document.querySelector('#state').textContent))
        .observe(document.querySelector('#state'), {childList: true, characterData: true, subtree: true});
    setTimeout(() => done(states), 3000);
"""


@test("a page that is opened while statusd is dead says so, and is live when statusd is back")
def _():
    page.stage.do("stop")
    try:
        page.browser.open("about:blank")
        page.browser.open(page.stage.address)
        until("document.querySelector('#banner').textContent.startsWith('Disconnected since ')")
        assert "live" not in page.browser.wait_for(COUNT_STATES)
    finally:
        page.stage.do("start")
    until("document.querySelector('#state').textContent === 'live' && !document.querySelector('#banner').textContent")
    eventually(lambda: rows() == expected_rows(), "the page equals the list")


COUNT_ALIVE = """
    const done = arguments[0], channel = new BroadcastChannel('statusd:/');
    let count = 0;
    channel.onmessage = ({data}) => { if (data.event?.kind === 'alive') count++; };
    setTimeout(() => { channel.close(); done(count); }, 3000);
"""


@test("tabs share one stream, and the next one takes over when its tab is closed")
def _():
    load()
    first = page.browser.tab()
    second = page.browser.new_tab()
    try:
        load()
        # Each tab with a stream would tell the others once a second that statusd is alive.
        alive = page.browser.wait_for(COUNT_ALIVE)
        assert 1 <= alive <= 4, f"alive {alive} times in 3 s"
        page.stage.post("web", "warning", "heard in both")
        until("[...document.querySelectorAll('.text')].some(text => text.textContent === 'heard in both')")
        page.browser.switch(first)
        page.browser.close_tab()
        page.browser.switch(second)
        page.stage.post("web", "ok", "heard by the next one")
        until("[...document.querySelectorAll('.text')].some(text => text.textContent === 'heard by the next one')")
        equal(js("document.querySelector('#banner').textContent"), "")
    finally:
        page.browser.switch(second)
