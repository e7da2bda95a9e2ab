# SPDX-License-Identifier: Apache-2.0
"""Shared by the receivers: reads the message, writes it for people, and delivers it or says why that failed."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

# The order of levels, the worst last (statusd.yaml(5)).
SEVERITY = {"ok": 1, "warning": 2, "unknown": 3, "critical": 4}
# Seconds for a request or a program. statusd ends a receiver after 30 s, and an Alertmanager gets two requests.
REQUEST_LIMIT, PROGRAM_LIMIT = 10, 20
# The most bytes of a reply.
REPLY_LIMIT = 4 << 20
# The exit status if the alerts may have been delivered nevertheless, for example if a server does not answer.
UNCERTAIN = 75


def fail(reason, status=1):
    """Ends the program with a reason, in one line."""
    print(" ".join(reason.split()), file=sys.stderr)
    sys.exit(status)


# MARK: The message


def read():
    """The message: host, receiver, test, and alerts, the worst first."""
    try:
        message = json.load(sys.stdin.buffer)
        # A host may have any name; the kernel does not check it.
        message["host"] = "".join(each if each.isprintable() else "?" for each in message["host"])
        return message
    except (ValueError, KeyError, TypeError):
        return fail("no message on standard input; to try a receiver, run: statusctl alerts --test")


def worst(message):
    """The worst level of a message."""
    return max((alert["level"] for alert in message["alerts"]), key=SEVERITY.get, default="ok")


def state(alert):
    """The news of an alert in one or two words."""
    return {"removed": "removed", "reminder": f"still {alert['level']}"}.get(alert["kind"], alert["level"])


def line(alert):
    """An alert in one line: `critical  db: disk full`."""
    text = "no further alerts" if alert["kind"] == "removed" else alert["text"]
    return f"{state(alert):<8}  {alert['server']}: {text}"


def title(message):
    """A message in a few words: `web1: db critical, and 2 more`."""
    alerts = message["alerts"]
    if message["test"]:
        return f"{message['host']}: test alert"
    more = f", and {len(alerts) - 1} more" if len(alerts) > 1 else ""
    return f"{message['host']}: {alerts[0]['server']} {state(alerts[0])}{more}"


def text(message, limit):
    """The alerts in one line each, and in at most this many bytes; the last line says how many are left out."""
    lines = [line(alert) for alert in message["alerts"]]
    count, room = 0, limit - len("and 250 more")
    while count < len(lines) and (room := room - len(lines[count].encode()) - 1) >= 0:
        count += 1
    return "\n".join(lines[:count] + [f"and {len(lines) - count} more"] * (count < len(lines)))


# MARK: Requests


def target(program):
    """The URL and the secret of a receiver with the arguments [URL] [CREDENTIAL]; the secret may be empty.

    The lines of the credential are the URL, unless it is an argument, and the secret, if one is needed.
    """
    urls = [each for each in sys.argv[1:] if "://" in each]
    names = [each for each in sys.argv[1:] if "://" not in each]
    if len(urls) > 1 or len(names) > 1:
        fail(f"too many arguments; usage: {program} [URL] [CREDENTIAL]")
    lines = urls + credential(*names or [program], must_exist=bool(names)) + ["", ""]
    url, secret = lines[0].strip(), lines[1].strip()
    if not url:
        fail(f"no URL; give it as an argument, or as the first line of the credential {program}")
    # Neither is shown, because both may be secret. Python would also open files, and show a password before the host.
    if not re.fullmatch(r"https?://[!-.0->A-~]+([/?][!-~]*)?", url):
        fail("invalid URL; it must start with http:// or https://, and have neither spaces nor a password")
    if not re.fullmatch(r"[ -~]*", secret):
        fail("invalid secret; it must consist of ASCII characters")
    return url, secret


def credential(name, must_exist):
    """The lines of a credential of the service (LoadCredential=)."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    path = f"{folder}/{name}"
    if not must_exist and (not folder or not os.path.exists(path)):
        return []
    if not folder:
        fail(f"no credentials; add to the receiver: credentials: [{name}]")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except (OSError, ValueError) as error:
        return fail(f"cannot read the credential {name}: {getattr(error, 'strerror', 'not UTF-8')}")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the request would arrive without its body, and its secret at another server."""

    def redirect_request(self, *_):
        return None


def request(url, secret, body=None, headers=None):
    """Posts a body, or else returns the reply to a GET; ends the program if that fails."""
    headers = {"User-Agent": "statusd", **(headers or {})}
    if secret:
        headers["Authorization"] = secret if " " in secret else f"Bearer {secret}"
    uncertain = UNCERTAIN if body else 1
    signal.signal(signal.SIGALRM, expire)
    signal.alarm(REQUEST_LIMIT)
    try:
        opener = urllib.request.build_opener(NoRedirect)
        with opener.open(urllib.request.Request(url, body and body.encode(), headers)) as reply:
            # The status says whether a server has taken a body; the rest may be endless.
            return None if body else reply.read(REPLY_LIMIT)
    except urllib.error.HTTPError as error:
        if error.code < 400:
            return fail(f"HTTP {error.code}: redirected; give the URL of the new place")
        return fail(f"HTTP {error.code}: {beginning(error) or error.reason}", uncertain if error.code >= 500 else 1)
    except urllib.error.URLError as error:
        # The server has not got the request.
        reason = getattr(error.reason, "strerror", None) or error.reason
        return fail(f"cannot reach {urllib.parse.urlsplit(url).netloc}: {reason}")
    except (http.client.InvalidURL, ValueError) as error:
        return fail(f"invalid URL: {error}")
    except (OSError, http.client.HTTPException) as error:
        return fail(f"no complete reply: {error}", uncertain)
    finally:
        signal.alarm(0)


def expire(*_):
    """Ends a request."""
    raise TimeoutError(f"no answer within {REQUEST_LIMIT} s")


def beginning(error):
    """The beginning of what a server says about an error."""
    try:
        return error.read(300).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException):
        return ""


# MARK: Programs


def run(command, package, text=""):
    """Runs a program with a text on standard input; ends this one if that fails."""
    name = os.path.basename(command[0])
    try:
        # Without a UTF-8 locale, some programs refuse or escape other characters.
        result = subprocess.run([os.fsencode(each) for each in command], input=text.encode(), capture_output=True,
                                env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=PROGRAM_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        fail(f"{name}: not finished within {PROGRAM_LIMIT} s", UNCERTAIN)
    except OSError as error:
        fail(f"cannot run {command[0]}: {error.strerror}; is {package} installed?")
    if result.returncode:
        reason = (result.stderr or result.stdout).decode(errors="replace").strip()
        fail(f"{name}: {reason.removeprefix(f'{name}: ') or f'exit status {result.returncode}'}")
