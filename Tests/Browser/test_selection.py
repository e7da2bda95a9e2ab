# SPDX-License-Identifier: Apache-2.0
"""The selected server, which is switched as a whole."""

from driver import page
from driver.page import js, load, until
from harness.expect import equal
from harness.runner import test

# Looks at the selected server after each change of the document and in each frame, and notes what does not fit.
OBSERVE = """
    window.looks = 0;
    window.mixed = [];
    const hero = document.querySelector('#hero');
    const look = () => {
        const link = hero.querySelector('h2 a'), name = link?.textContent;
        const text = hero.querySelector('.text')?.textContent;
        window.looks++;
        const belongs = text === `text of ${name}` && link.dataset.opens === name
            && hero.querySelector('.strip').dataset.server === name;
        if (!belongs) window.mixed.push([name, text]);
    };
    new MutationObserver(look).observe(hero, {subtree: true, childList: true, characterData: true, attributes: true});
    const inFrames = () => { look(); requestAnimationFrame(inFrames); };
    inFrames();
"""


@test("during 1000 switches, no server is shown with the text of another", limit=180)
def _():
    for name in ("web", "db"):
        page.stage.post(name, "ok", f"text of {name}")
    page.stage.select("web")
    load()
    until("document.querySelector('#hero .text')?.textContent === 'text of web'")
    page.browser.run(OBSERVE)
    for number in range(1000):
        page.stage.select(("db", "web")[number % 2])
    until("document.querySelector('#hero h2 a').textContent === 'web'")
    equal(js("window.mixed"), [])
    assert js("window.looks") > 500, "the observer saw few changes"


@test("a switch is announced to a screen reader")
def _():
    page.stage.select("web")
    load()
    until("document.querySelector('#hero h2 a')?.textContent === 'web'")
    page.stage.select("db")
    until("document.querySelector('#said').textContent.startsWith('Selected: db')")
