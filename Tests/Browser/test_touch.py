# SPDX-License-Identifier: Apache-2.0
"""The page under a thumb. Only Chromium: touches that scroll need its DevTools protocol."""

from driver import page
from driver.page import js, load, only, until
from harness.expect import equal
from harness.runner import test

PULL = "document.querySelector('#pull')"


def pull(distance, start):
    """Moves a finger down, and keeps it on the screen."""
    page.browser.touch("Start", 190, start)
    for moved in range(0, distance, 10):
        page.browser.touch("Move", 190, start + moved)


def on_phone(path):
    """Opens a path on a phone."""
    load(path)
    page.browser.become_phone(390, 844)
    until("innerWidth === 390")


def refreshable(wanted):
    """The name of a server that can be refreshed, or cannot."""
    return next(server["name"] for server in page.stage.servers() if server["refreshable"] == wanted)


@test("a pull of the list refreshes all, with an indicator that ends by itself")
@only("chromium")
def _():
    on_phone("")
    try:
        pull(80, 260)
        until(f"{PULL}.textContent.trim() === 'Pull to refresh'")
        page.browser.touch("End")
        until(f"{PULL}.style.opacity === '0'")
        equal(js(f"{PULL}.ariaBusy"), None, "a short pull refreshes")
        pull(200, 260)
        until(f"{PULL}.textContent.trim() === 'Release to refresh'")
        page.browser.touch("End")
        until(f"{PULL}.ariaBusy === 'true' && {PULL}.textContent.trim() === 'Refreshing'")
        until("document.querySelector('.row[aria-busy=true]')")
        until(f"{PULL}.ariaBusy !== 'true' && {PULL}.style.opacity === '0'")
    finally:
        page.browser.become_desktop()


@test("a pull of a detail refreshes its server only")
@only("chromium")
def _():
    on_phone(refreshable(True))
    try:
        until("!document.querySelector('#detail nav button:last-child').disabled")
        pull(200, 200)
        page.browser.touch("End")
        until(f"{PULL}.ariaBusy === 'true'")
        until(f"{PULL}.ariaBusy !== 'true'")
    finally:
        page.browser.become_desktop()


@test("leaving the detail during a pull ends the refresh")
@only("chromium")
def _():
    on_phone(refreshable(True))
    page.stage.do("hold")
    try:
        until("!document.querySelector('#detail nav button:last-child').disabled")
        pull(200, 200)
        page.browser.touch("End")
        until(f"{PULL}.ariaBusy === 'true'")
        page.browser.run("document.querySelector('#detail nav a').click()")
        until(f"{PULL}.ariaBusy !== 'true'")
        until("!document.querySelector('.row[aria-busy=true]')")
    finally:
        page.stage.do("release")
        page.browser.become_desktop()


@test("a detail that cannot be refreshed cannot be pulled")
@only("chromium")
def _():
    on_phone(refreshable(False))
    try:
        until("document.querySelector('#detail nav button:last-child').disabled")
        pull(200, 120)
        equal(js(f"{PULL}.style.opacity || '0'"), "0")
        page.browser.touch("End")
    finally:
        page.browser.become_desktop()


@test("all targets are large enough for a thumb")
@only("chromium")
def _():
    on_phone("")
    try:
        small = js("""[...document.querySelectorAll('header button, #filter, #range, summary')]
            .filter(node => node.offsetParent && node.getBoundingClientRect().height < 44)
            .map(node => [node.id || node.textContent, node.getBoundingClientRect().height])""")
        equal(small, [])
    finally:
        page.browser.become_desktop()
