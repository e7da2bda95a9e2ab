# SPDX-License-Identifier: Apache-2.0
"""The page of a host that follows others."""

from driver import page, stage
from driver.page import js, load, until
from harness.expect import equal
from harness.runner import test

ROWS = "[...document.querySelectorAll(arguments[0] + ' .row')].map(row => row.row.name)"


@test("a host is above its servers, and says how many they are, and the worst")
def _():
    few = stage.Stage(page.options.stage, hosts=3)
    try:
        load(address=few.address)
        until("document.querySelectorAll('details .row').length > 25")
        few.report("s3@host-001", "warning", "slow")
        until("document.querySelector('.attention').textContent.includes('s3@host-001')")
        equal(js(ROWS, "details:has(ul[aria-label=host-001])"),
              ["host-001"] + [f"s{number}@host-001" for number in range(8) if number != 3])
        until("document.querySelector('details:has(ul[aria-label=host-001]) h2').textContent"
              " === 'host-001 8 servers, worst warning'")
    finally:
        few.close()


@test("of a hub, the page has this host, the hosts and what is not ok elsewhere; a host's page has all of its servers",
      limit=120)
def _():
    hub = stage.Stage(page.options.stage, hosts=250)
    try:
        load(address=hub.address)
        until("document.querySelectorAll('.row').length === 274")  # 24 of this host
        until("document.querySelector('#counts .ok b').textContent === '2271'")
        hub.report("s3@host-001", "critical", "down")
        until("document.querySelector('.attention').textContent.includes('s3@host-001')")
        until("document.querySelector('#counts .ok b').textContent === '2270'")
        hub.report("s3@host-001", "ok", "fine")
        until("!document.querySelector('.attention').textContent.includes('s3@host-001')")
        load("host-001", address=hub.address)
        until("document.querySelectorAll('#detail tr').length >= 8")
        hub.report("s5@host-001", "ok", "changed unseen")
        until("document.querySelector('#detail').textContent.includes('changed unseen')")
        load("s5@host-001", address=hub.address)
        until("document.querySelector('#detail .text').textContent === 'changed unseen'")
        hub.report("s5@host-001", "ok", "changed again")
        until("document.querySelector('#detail .text').textContent === 'changed again'")
        load("s9@host-001", address=hub.address)
        until("document.querySelector('#detail .text').textContent === 'There is no such server.'")
    finally:
        hub.close()
