# SPDX-License-Identifier: Apache-2.0
"""The receivers in packaging/alerts, each with the real program that it delivers to. (The receiver unit: see
inside/test_alerts.py.)"""

import contextlib
import email
import email.header
import email.policy
import json
import os
import pathlib
import pty
import shutil
import socket
import struct
import subprocess
import tempfile
import termios

from harness.attacker import need_root
from harness.daemon import Daemon
from harness.expect import contains, equal, eventually, one_sentence
from harness.receivers import RECEIVERS, alert, alertmanager, delivered, desktop, mail_server, message, receive
from harness.runner import test
from harness.schema import valid
from harness.servers import listener, refused_port, web

SCHEMA = json.loads((RECEIVERS.parent / "schema/alert.schema.json").read_text(encoding="utf-8"))
ODD = "größer als 5 < 6 & “\\x1b” in C:\\new 🚨"
# As many alerts as a message can have, with texts as long as they can be.
MOST = message(*(alert(f"server{number:03}", text="ü" * 512) for number in range(250)))
REMOVED = alert("old", "ok", kind="removed", oldLevel="critical", text="removed")
REMINDER = alert("db", "warning", kind="reminder", oldLevel="warning")


# MARK: webhook


@test("webhook posts the message as JSON, with a text that chats show")
def webhook():
    with web() as server:
        sent = message(alert("getty@tty1", text=ODD), REMINDER, REMOVED)
        delivered("webhook", f"http://127.0.0.1:{server.port}/hook?a=b", message=sent)
        method, path, headers = server.requests[0]
        equal((method, path, headers["Content-Type"]), ("POST", "/hook?a=b", "application/json"))
        assert "Authorization" not in headers, headers
        received = json.loads(server.bodies[0])
        equal(received.pop("text").splitlines(), ["web1: getty@tty1 critical, and 2 more", f"critical  getty@tty1: {ODD}",
                                                  "still warning  db: disk full", "removed   old: no further alerts"])
        equal(received, sent)
        valid(SCHEMA, "Message", received)


@test("the text for chats has at most 4000 bytes, and says how many alerts it leaves out")
def long_text():
    with web() as server:
        delivered("webhook", f"http://127.0.0.1:{server.port}/", message=MOST)
        text = json.loads(server.bodies[0])["text"]
        equal(text.splitlines()[0], "web1: server000 critical, and 249 more")
        equal(text.splitlines()[-1], f"and {250 - text.count('ü' * 512)} more")
        assert len(text.encode()) < 4200, len(text.encode())


@test("URL and secret come from a credential, so that the list of processes does not show them")
def credentials():
    with web() as server:
        url = f"http://127.0.0.1:{server.port}/secret"
        for arguments, kept, wanted in (
                ([], {"webhook": f"{url}\n"}, None), ([], {"webhook": f"{url}\r\nabc\r\n"}, "Bearer abc"),
                ([], {"webhook": f"{url}\nBasic YTpi\n"}, "Basic YTpi"), ([url], {"webhook": "abc"}, "Bearer abc"),
                (["chat"], {"chat": f"{url}\nabc", "webhook": "unused"}, "Bearer abc"),
                ([url, "chat"], {"chat": "abc", "webhook": "unused"}, "Bearer abc"), ([url], {"other": "unused"}, None)):
            delivered("webhook", *arguments, message=message(), credentials=kept)
            equal(server.requests[-1][1:2] + (server.requests[-1][2].get("Authorization"),), ("/secret", wanted), f"{kept}")


@test("each refusal of a request is one sentence, without the URL or the secret, which may be confidential")
def refusals():
    with web() as server:
        url = f"http://127.0.0.1:{server.port}"
        for arguments, kept, wanted in (
                ([f"{url}/status/404/hidden"], {}, "HTTP 404: POST /status/404/hidden: ready"),
                ([f"http://127.0.0.1:{refused_port()}/hidden"], {}, "cannot reach 127.0.0.1:"),
                (["http://does-not-exist.invalid/hidden"], {}, "cannot reach does-not-exist.invalid: "),
                (["http://user:hidden@127.0.0.1/"], {}, "invalid URL; it must start with http:// or https://"),
                (["file:///hidden"], {}, "invalid URL; it must"), ([f"{url}/hid den"], {}, "invalid URL; it must"),
                (["http://127.0.0.1:port/hidden"], {}, "invalid URL: nonnumeric port: 'port'"),
                (["http://[::1/hidden"], {}, "invalid URL: Invalid IPv6 URL"), ([url, url], {}, "too many arguments"),
                ([], {}, "no URL; give it as an argument, or as the first line of the credential webhook"),
                (["chat"], {}, "no credentials; add to the receiver: credentials: [chat]"),
                (["chat"], {"webhook": url}, "cannot read the credential chat: No such file or directory"),
                ([url], {"webhook": "hidden…"}, "invalid secret; it must consist of ASCII characters"),
                ([url], {"webhook": "hidden\x01"}, "invalid secret")):
            line = one_sentence(receive("webhook", *arguments, message=message(), credentials=kept), 1)
            contains(line, wanted)
            assert "hidden" not in line or "404" in line, line
        for text in ("", "{}", "[]", "not JSON"):
            contains(one_sentence(receive("webhook", url, message=text), 1), "no message on standard input")


@test("redirects are not followed, because the alerts would get lost and the secret would go to another server")
def redirects():
    with web() as server:
        for path in ("/redirect/1", "/loop"):
            line = one_sentence(receive("webhook", f"http://127.0.0.1:{server.port}{path}", message=message()), 1)
            contains(line, "HTTP 302: redirected")
        equal(len(server.requests), 2)


@test("if the alerts may have arrived although a request has failed, the exit status is 75")
def uncertain():
    def hang_up(connection):
        with connection:
            connection.recv(65536)

    with web() as server, listener() as silent, listener(hang_up) as broken:
        for url, wanted in ((f"http://127.0.0.1:{server.port}/status/503", "HTTP 503: "),
                            (f"http://127.0.0.1:{broken}/", "no complete reply: Remote end closed connection"),
                            (f"http://127.0.0.1:{silent}/", "no complete reply: no answer within 10 s")):
            contains(one_sentence(receive("webhook", url, message=message()), 75), wanted)


@test("a reply without an end delivers the alerts if its status says so, and otherwise does not delay a receiver")
def endless():
    def answer(start):
        def send(connection):
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(start)
                while True:
                    connection.sendall(b"X")
                    connection.settimeout(0.5)
                    with contextlib.suppress(TimeoutError):
                        if not connection.recv(65536):
                            return
        return send

    with listener(answer(b"HTTP/1.1 200 OK\r\n\r\n")) as good, listener(answer(b"HTTP/1.1 200 OK\r\n")) as bad:
        delivered("webhook", f"http://127.0.0.1:{good}/", message=message())
        contains(one_sentence(receive("webhook", f"http://127.0.0.1:{bad}/", message=message()), 75), "no answer within 10 s")


# MARK: ntfy


@test("ntfy sends a title, a priority and tags in headers, and the alerts as text")
def ntfy():
    with web() as server:
        url = f"http://127.0.0.1:{server.port}/topic"
        for sent, title, priority, tag in (
                (message(alert(text=ODD)), "web1: db critical", "5", "rotating_light"),
                (message(alert(level="unknown")), "web1: db unknown", "4", "rotating_light"),
                (message(REMINDER, alert("web", "ok")), "web1: db still warning, and 1 more", "4", "rotating_light"),
                (message(alert(level="ok")), "web1: db ok", "3", "white_check_mark"),
                (message(REMOVED), "web1: old removed", "3", "white_check_mark"),
                (message(test=True), "web1: test alert", "5", "rotating_light")):
            delivered("ntfy", url, message=sent)
            headers = server.requests[-1][2]
            equal(tuple(headers[name] for name in ("Title", "Priority", "Tags")), (title, priority, tag))
        equal(server.requests[0][:2], ("POST", "/topic"))
        equal(server.bodies[0], f"critical  db: {ODD}")
        delivered("ntfy", message=message(), credentials={"ntfy": f"{url}\ntk_abc\n"})
        equal(server.requests[-1][2]["Authorization"], "Bearer tk_abc")


@test("ntfy encodes a title as RFC 2047 says, and a host name cannot add headers")
def ntfy_titles():
    with web() as server:
        delivered("ntfy", f"http://127.0.0.1:{server.port}/", message=message(host="größe\r\nX-Evil: yes" + "ü" * 200))
        headers = server.requests[0][2]
        assert headers["Title"].isascii() and "X-Evil" not in headers, headers
        equal(str(email.header.make_header(email.header.decode_header(headers["Title"]))),
              "größe??X-Evil: yes" + "ü" * 200 + ": db critical")


@test("ntfy never sends more than the 4096 bytes of which the server makes a message")
def ntfy_limit():
    with web() as server:
        delivered("ntfy", f"http://127.0.0.1:{server.port}/", message=MOST)
        text = server.bodies[0]
        assert len(text.encode()) <= 4096, len(text.encode())
        equal(text.splitlines()[-1], "and 247 more")


# MARK: mail


def decoded(mail):
    """The headers and the text of a mail."""
    return email.message_from_bytes(mail, policy=email.policy.default)


@test("mail puts a mail into a real mailbox, by sendmail and SMTP")
def mail():
    with mail_server() as server:
        delivered("mail", "root", "ops@example.org", message=message(alert("getty@tty1", text=ODD), REMINDER, REMOVED),
                  **server.variables)
        (received,) = server.mails()
        shown = decoded(received)
        equal((shown["Subject"], shown["To"], shown["Auto-Submitted"]),
              ("web1: getty@tty1 critical, and 2 more", "root, ops@example.org", "auto-generated"))
        equal(shown["X-RcptTo"], "root, ops@example.org")
        for name in ("Date", "Message-ID", "From"):
            assert shown[name], f"no {name} in {received}"
        equal(shown.get_content().splitlines(), [
            f"critical  getty@tty1: {ODD}", "          since 2025-01-02T03:04:05.678Z, id getty@tty1-m5ec1x9a",
            "still warning  db: disk full", "          since 2025-01-02T03:04:05.678Z, id db-m5ec1x9a",
            "removed   old: no further alerts", "          since 2025-01-02T03:04:05.678Z, id old-m5ec1x9a"])


@test("the mails about one problem refer to the same message, so that mail programs show them together")
def threads():
    with mail_server() as server:
        for sent in (message(alert("getty@tty1")), message(alert("web"), alert("getty@tty1", "ok")), message(alert("web", "ok"))):
            delivered("mail", "root", message=sent, **server.variables)
        first, second, third = (set(decoded(each)["References"].split()) for each in server.mails())
        equal((len(first & second), len(second & third), len(first & third)), (1, 1, 0))


@test("no host name, however long or odd, adds headers or recipients to a mail, and none makes it unreadable")
def headers():
    with mail_server() as server:
        for host in ("web1\nBcc: evil@example.org", "web1\r\n\r\nbody", "ü" * 64, "a" * 64, "=?utf-8?q?a?=", "\U0001f6a8\x1b]0;"):
            delivered("mail", "root", message=message(alert("a" * 64), host=host), **server.variables)
            received = server.mails()[-1]
            shown = decoded(received)
            equal(shown["X-RcptTo"], "root", host)
            assert "Bcc" not in shown and received.isascii(), received
            wanted = "".join(each if each.isprintable() else "?" for each in host)
            if not host.startswith("=?"):
                equal(shown["Subject"], f"{wanted}: {'a' * 64} critical")
            assert all(len(line) <= 998 for line in received.splitlines()), received


@test("a mail has all of 250 alerts with 1 KiB of text each")
def long_mail():
    with mail_server() as server:
        delivered("mail", "root", message=MOST, **server.variables)
        text = decoded(server.mails()[0]).get_content()
        equal((len(text.splitlines()), text.count("ü" * 512)), (500, 250))


@test("an address is never taken for an option, and the shell never sees it")
def addresses():
    with mail_server() as server, tempfile.TemporaryDirectory() as folder:
        for address in ("--file=/nonexistent", "$(touch hacked)@localhost", "`touch hacked`"):
            receive("mail", address, message=message(), prefix=["env", "-C", folder], **server.variables)
        equal(os.listdir(folder), [])
        equal([decoded(each)["X-RcptTo"] for each in server.mails() if b"nonexistent" in each], ["--file=/nonexistent"])


@test("mail says why a mail was not taken")
def mail_refusals():
    with mail_server() as server:
        for arguments, wanted in (([], "no address; for example: run: [/usr/lib/statusd/alerts/mail, root]"), ([""], "invalid address"),
                                  (["a\nb"], "invalid address"), (["root", "unknown"], "no such user here")):
            contains(one_sentence(receive("mail", *arguments, message=message(), **server.variables), 1), wanted)
        server.configure(refused_port())
        contains(one_sentence(receive("mail", "root", message=message(), **server.variables), 1), "sendmail: ", "Connection refused")
        equal(server.mails(), [])


# MARK: alertmanager


@test("an Alertmanager shows problems, groups those of a host, follows changes of the level, and resolves them")
def alertmanager_life():
    with web() as hook, alertmanager(hook.port) as manager:
        def told():
            """The alerts in each notification: status, server and severity."""
            return [sorted((each["status"], each["labels"]["server"], each["labels"]["severity"]) for each in json.loads(body)["alerts"])
                    for body in hook.bodies]

        delivered("alertmanager", manager.url, message=message(alert(text=ODD), alert("web", "warning")))
        equal(manager.open(), [("db", "critical"), ("web", "warning")])
        shown = next(each for each in manager.get("alerts") if each["labels"]["server"] == "db")
        equal(shown["labels"], {"alertname": "statusd", "instance": "web1", "server": "db", "severity": "critical"})
        equal((shown["annotations"], shown["startsAt"]), ({"summary": f"db: {ODD}", "id": "db-m5ec1x9a"}, "2025-01-02T03:04:05.678Z"))
        eventually(lambda: told()[-1:] == [[("firing", "db", "critical"), ("firing", "web", "warning")]], "one notification of both")
        delivered("alertmanager", manager.url, message=message(alert(level="warning", oldLevel="critical")))
        equal(manager.open(), [("db", "warning"), ("web", "warning")])
        eventually(lambda: {("resolved", "db", "critical"), ("firing", "db", "warning")} <= set(told()[-1]), "the change")
        delivered("alertmanager", manager.url + "/", message=message(alert(level="warning", kind="reminder", oldLevel="warning")))
        equal(manager.open(), [("db", "warning"), ("web", "warning")])
        delivered("alertmanager", manager.url, message=message(alert(level="ok", oldLevel="warning")))
        equal(manager.open(), [("web", "warning")])
        eventually(lambda: ("resolved", "db", "warning") in told()[-1], "the end")
        delivered("alertmanager", manager.url, message=message(alert("web", "ok", kind="removed", oldLevel="warning")))
        equal(manager.open(), [])
        eventually(lambda: told()[-1] == [("resolved", "web", "warning")], "the end of the last")
        equal({json.loads(body)["groupKey"] for body in hook.bodies}, {'{}:{instance="web1"}'})


@test("a level that an Alertmanager has got without statusd's knowledge is ended by the next one, and other hosts are left alone")
def alertmanager_uncertain():
    with web() as hook, alertmanager(hook.port) as manager:
        for host in ("web1", "web2", 'a"\\b\n{}=~ü'):
            delivered("alertmanager", manager.url, message=message(alert(), host=host))
        delivered("alertmanager", manager.url, message=message(alert(level="warning", oldLevel="ok")))
        equal(manager.open(), [("db", "critical"), ("db", "critical"), ("db", "warning")])
        for host in ("web1", "web2", 'a"\\b\n{}=~ü'):
            delivered("alertmanager", manager.url, message=message(alert(level="ok", oldLevel="ok"), host=host))
        equal(manager.open(), [])
        delivered("alertmanager", manager.url, message=MOST)
        equal(len(manager.open()), 250)


@test("a test of an Alertmanager ends by itself, and leaves the server's own alert alone")
def alertmanager_test():
    with web() as hook, alertmanager(hook.port) as manager:
        delivered("alertmanager", manager.url, message=message())
        delivered("alertmanager", manager.url, message=message(alert(level="warning"), test=True))
        ends = {each["labels"]["alertname"]: each["endsAt"] for each in manager.get("alerts")}
        equal(set(ends), {"statusd", "statusd-test"})
        minutes = subprocess.run(["date", "-d", ends["statusd-test"], "+%s"], capture_output=True, text=True, check=True)
        now = subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True)
        assert 0 < int(minutes.stdout) - int(now.stdout) <= 300, ends


@test("alertmanager says if the URL is not that of an Alertmanager, or the Alertmanager refuses an alert")
def alertmanager_refusals():
    with web() as server, alertmanager(server.port) as manager:
        contains(one_sentence(receive("alertmanager", f"http://127.0.0.1:{server.port}", message=message()), 1), "not that of an Alertmanager")
        contains(one_sentence(receive("alertmanager", f"http://127.0.0.1:{refused_port()}", message=message()), 1), "Connection refused")
        contains(one_sentence(receive("alertmanager", manager.url, message=message(alert(since="yesterday"))), 1), "HTTP 400: ", "yesterday")
        # Nothing was sent to it yet.
        contains(one_sentence(receive("alertmanager", f"http://127.0.0.1:{server.port}/status/503/", message=message()), 1), "HTTP 503: ")


# MARK: desktop and wall


@test("desktop shows a notification on a real notification service, with each character of the texts")
def notification():
    with desktop() as service:
        for sent in (message(alert(text=ODD + " <b>bold</b> \\n"), REMINDER), message(alert(level="ok")), MOST):
            delivered("desktop", message=sent, **service.variables)
        shown = service.notifications()
        equal(shown["web1: db critical, and 1 more"],
              "critical  db: größer als 5 &lt; 6 &amp; “\\x1b” in C:\\new 🚨 &lt;b&gt;bold&lt;/b&gt; \\n\nstill warning  db: disk full")
        equal(shown["web1: db ok"], "ok        db: disk full")
        contains(shown["web1: server000 critical, and 249 more"], "server000", "and 249 more")


@test("desktop says if there is no session to show a notification in, or no notify-send")
def no_desktop():
    contains(one_sentence(receive("desktop", message=message()), 1), "notify-send: ")
    with tempfile.TemporaryDirectory() as empty:
        contains(one_sentence(receive("desktop", message=message(), PATH=empty), 1), "cannot run notify-send", "is libnotify-bin installed?")


@contextlib.contextmanager
def terminal():
    """A terminal on which root is logged in: what is written to it, the terminal, and the prefix of commands that know it."""
    need_root()
    screen, line = pty.openpty()
    with open(screen, "rb", buffering=0) as screen, open(line, "wb", buffering=0) as line, tempfile.TemporaryDirectory() as folder:
        name = os.ttyname(line.fileno()).removeprefix("/dev/").encode()
        # The logins of a host (utmp(5)), in a /run of its own.
        pathlib.Path(folder, "utmp").write_bytes(
            struct.pack("hi32s4s32s256shhiii4i20s", 7, os.getpid(), name, b"0", b"root", b"", 0, 0, 0, 0, 0, 0, 0, 0, 0, b""))
        yield screen, line, ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && cp "$0" /run/utmp && exec "$@"', f"{folder}/utmp"]


@test("wall writes the alerts to a terminal, and also succeeds if nobody is logged in")
def wall():
    with terminal() as (screen, _, prefix):
        delivered("wall", message=message(alert(text=ODD)), prefix=prefix)
        seen = b""
        while ODD.encode() not in seen:
            seen += screen.read(4096)
        contains(seen.decode(errors="replace"), "statusd on web1: db critical", f"critical  db: {ODD}")
        delivered("wall", message=message(), prefix=[*prefix[:-1], "/dev/null"])


@test("a terminal that is stopped does not make wall fail")
def stopped_terminal():
    with terminal() as (_, line, prefix):
        termios.tcflow(line, termios.TCOOFF)
        delivered("wall", message=message(), prefix=prefix)


# MARK: With the daemon


def followed(server, options="batch: 0s"):
    """A configuration that reports a server to a webhook at an HTTP server."""
    return (f"alerts: {{ hook: {{ run: [{RECEIVERS}/webhook, 'http://127.0.0.1:{server.port}/'], {options} }} }}\n"
            "servers: { db: { push: true, description: Primary database } }\n")


def arrived(server, count):
    """Waits for this many messages, which must be valid by the schema; returns the last one."""
    # The first follows 10 s after the start of the daemon, so that programs can report again.
    eventually(lambda: len(server.bodies) >= count, f"{count} messages", patience=60)
    received = json.loads(server.bodies[count - 1])
    assert received.pop("text")
    valid(SCHEMA, "Message", received)
    return received


@test("a problem and its recovery arrive at a webhook with the same ID, and are valid by the schema")
def problem_and_recovery():
    with web() as server, Daemon(followed(server)) as daemon:
        daemon.done("post", "db", ODD, "--level", "critical")
        problem = arrived(server, 1)
        equal((problem["host"], problem["receiver"], problem["test"]), (socket.gethostname(), "hook", False))
        (first,) = problem["alerts"]
        equal((first["kind"], first["level"], first["oldLevel"], first["text"], first["description"]),
              ("problem", "critical", "ok", ODD, "Primary database"))
        equal(first["since"], daemon.describe("db")["status"]["levelChangedAt"])
        daemon.done("post", "db", "works", "--level", "ok")
        (last,) = arrived(server, 2)["alerts"]
        equal((last["kind"], last["level"], last["oldLevel"], last["text"], last["id"]),
              ("recovery", "ok", "critical", "works", first["id"]))


@test("if a webhook fails twice, the log says so once, and the alert arrives", limit=120)
def failures():
    with web() as server, Daemon(followed(server)) as daemon:
        server.failures += [500, 500]
        daemon.done("post", "db", "disk full", "--level", "critical")
        sent = [arrived(server, number) for number in (1, 2, 3)]
        equal(sent[0], sent[2])
        equal(daemon.log().count("HTTP 500: out of order"), 1, daemon.log())


@test("a test by statusctl arrives marked as one, and is valid by the schema")
def by_hand():
    with web() as server, Daemon(followed(server)) as daemon:
        daemon.done("alerts", "--test", "hook")
        received = arrived(server, 1)
        assert received["test"], received
        server.failures.append(404)
        result = daemon.ctl("alerts", "--test", "hook")
        assert result.status != 0, result
        contains(result.out + result.err, "HTTP 404: out of order")


@test("a credential of the service reaches a receiver that names it, and no other receiver")
def credential():
    with web() as server, tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "webhook").write_text("abc\n", encoding="utf-8")
        with Daemon(followed(server, "batch: 0s, credentials: [webhook]"), start=False) as daemon:
            daemon.environment["CREDENTIALS_DIRECTORY"] = folder
            daemon.start()
            daemon.done("post", "db", "disk full", "--level", "critical")
            arrived(server, 1)
            equal(server.requests[0][2]["Authorization"], "Bearer abc")
            daemon.file.write_text(followed(server))
            daemon.done("reload")
            daemon.done("post", "db", "works", "--level", "ok")
            arrived(server, 2)
            assert "Authorization" not in server.requests[1][2], server.requests[1]


# MARK: All


@test("each receiver leaves no file where it is installed")
def no_files():
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(RECEIVERS, f"{folder}/alerts", ignore=shutil.ignore_patterns("__pycache__"))
        before = sorted(os.listdir(copy))
        for name in before:
            if name != "alert.py":
                subprocess.run([f"{copy}/{name}"], input="", text=True, env={"PATH": folder}, capture_output=True, check=False)
        equal(sorted(os.listdir(copy)), before)


@test("if a problem may have arrived although its delivery failed, its recovery is sent")
def uncertain_problem():
    with web() as server, Daemon(followed(server)) as daemon:
        server.failures.append(500)
        daemon.done("post", "db", "disk full", "--level", "critical")
        (problem,) = arrived(server, 1)["alerts"]
        daemon.done("post", "db", "works", "--level", "ok")
        (recovery,) = arrived(server, 2)["alerts"]
        equal((recovery["kind"], recovery["id"]), ("recovery", problem["id"]))
