# SPDX-License-Identifier: Apache-2.0
"""The page as a person has it: what is on it, and what can be done with it."""

from harness.expect import eventually

# Set by Tests/Browser/run.
browser = None
stage = None
options = None


def only(name):
    """Marks a test that no other browser can run."""

    def mark(function):
        function.only = name
        return function

    return mark


def js(script, *arguments):
    """The value of an expression in the page."""
    return browser.run("return " + script, *arguments)


def until(script, *arguments, patience=15.0):
    """Waits until an expression in the page is true; returns its value."""
    return eventually(lambda: js(script, *arguments), script, patience)


def load(path="", width=1280, height=800, address=None):
    """Opens the page, or a path of it, and waits until it is live."""
    browser.open("about:blank")
    browser.resize(width, height)
    browser.open((address or stage.address) + path)
    until("document.querySelectorAll('.row').length && document.querySelector('#state').textContent === 'live'")


def rows():
    """What each row says: its level and its text, by name."""
    return js("""Object.fromEntries([...document.querySelectorAll('.row')].map(row => {
        const part = name => row.querySelector(name).textContent;
        return [part('.name'), [part('.level'), part('.text')]];
    }))""")


def expected_rows():
    """What the rows should say."""
    return {server["name"]: [_word(server), _text(server)] for server in stage.servers()}


def _word(server):
    if server["phase"] in ("failed", "loading"):
        return server["phase"]
    if server["stale"]:
        return "stale"
    return (server.get("status") or {}).get("level", "no status")


def _text(server):
    status, message = server.get("status") or {}, server.get("message")
    if server["phase"] in ("failed", "empty") and message:
        return message
    return status.get("text") or message or ""
