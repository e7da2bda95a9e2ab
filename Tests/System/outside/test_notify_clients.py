# SPDX-License-Identifier: Apache-2.0
"""Programs that speak sd_notify(3), unchanged, on the notify socket of a server."""

import array
import os
import shutil
import socket
import threading
import time

from harness.attacker import as_user, need_root
from harness.daemon import NOBODY, Daemon, environment, run
from harness.expect import Skip, equal, eventually
from harness.runner import test

from .test_foreign_clients import python

CONFIGURATION = "servers:\n  web: { notify: true }\n"


def send(path, text, descriptors=()):
    """One datagram, as sd_pid_notify_with_fds would send it."""
    data = text if isinstance(text, bytes) else text.encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.connect(path)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        client.sendmsg([data], rights)


def systemd_notify(daemon, server, *arguments):
    """systemd's own client, which returns when its barrier was answered."""
    if not shutil.which("systemd-notify"):
        raise Skip("there is no systemd-notify; packaging/setup --test installs it")
    result = run("systemd-notify", *arguments, env=environment(NOTIFY_SOCKET=daemon.notify_path(server)))
    equal((result.status, result.err), (0, ""), "systemd-notify")


@test("systemd-notify returns after its status was posted")
def barrier():
    with Daemon(CONFIGURATION) as daemon:
        for number in range(20):
            systemd_notify(daemon, "web", f"--status=Serving {number} clients")
            equal(daemon.text("web"), f"Serving {number} clients")


@test("READY=1 with a status is ok, STOPPING=1 and ERRNO= are not")
def levels():
    with Daemon(CONFIGURATION) as daemon:
        systemd_notify(daemon, "web", "--ready", "--status=Serving")
        equal((daemon.text("web"), daemon.describe("web")["status"]["level"]), ("Serving", "ok"))
        equal(daemon.ctl("status", "web").status, 0)
        send(daemon.notify_path("web"), "STATUS=Disk gone\nERRNO=5\n")
        eventually(lambda: daemon.text("web") and "Disk gone" in daemon.text("web"))
        eventually(lambda: daemon.describe("web")["status"]["level"] == "critical")
        equal(daemon.ctl("status", "web").status, 3)


@test("python's sdnotify reaches its server")
def python_sdnotify():
    with Daemon(CONFIGURATION) as daemon:
        program = "import sdnotify; n = sdnotify.SystemdNotifier(debug=True); n.notify('READY=1'); n.notify('STATUS=From python')"
        result = run(python(), "-c", program, env=environment(NOTIFY_SOCKET=daemon.notify_path("web")))
        equal((result.status, result.err), (0, ""))
        eventually(lambda: daemon.text("web") == "From python")


@test("a plain datagram socket is enough, and unknown assignments are ignored")
def plain_socket():
    with Daemon(CONFIGURATION) as daemon:
        send(daemon.notify_path("web"), "STATUS=Plain")
        eventually(lambda: daemon.text("web") == "Plain")
        send(daemon.notify_path("web"), "X_UNKNOWN=1\nSTATUS=With others\nMAINPID=1\n")
        eventually(lambda: daemon.text("web") == "With others")


@test("a server that was added by a post has a notify socket too")
def added_by_post():
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        eventually(lambda: os.path.exists(daemon.notify_path("db")))
        systemd_notify(daemon, "db", "--status=By its socket")
        equal(daemon.text("db"), "By its socket")


@test("descriptors in notifications are closed")
def descriptors_do_not_leak():
    with Daemon(CONFIGURATION) as daemon:
        systemd_notify(daemon, "web", "--status=before")
        before = daemon.descriptors()
        reading, writing = os.pipe()
        try:
            for number in range(200):
                send(daemon.notify_path("web"), f"STATUS=with descriptors {number}", [reading] * 40)
                send(daemon.notify_path("web"), "FDSTORE=1\nFDNAME=x", [reading])
                send(daemon.notify_path("web"), "BARRIER=1", [writing])
                send(daemon.notify_path("web"), b"\xff\x00 no assignment at all", [reading] * 253)
            systemd_notify(daemon, "web", "--status=after")
            os.close(writing)
            writing = -1
            equal(os.read(reading, 1), b"", "our pipe, once no writer is left")
        finally:
            os.close(reading)
            if writing >= 0:
                os.close(writing)
        daemon.assert_no_leak(before)
        equal(daemon.text("web"), "after")


@test("only users who may post, or whom the configuration names, can send to a notify socket")
def who_may_send():
    need_root()
    with Daemon("servers: { web: { notify: { users: [nobody] } }, db: { notify: true } }\n") as daemon:
        def is_let_in(server):
            try:
                as_user(NOBODY, send, daemon.notify_path(server), "STATUS=here")
            except PermissionError:
                return False
            return True

        equal([is_let_in("web"), is_let_in("db")], [True, False])
        eventually(lambda: daemon.text("web") == "here")
        daemon.file.write_text("servers: { web: { notify: true }, db: { notify: { users: [65534] } } }\n")
        daemon.done("reload")
        equal([is_let_in("web"), is_let_in("db")], [False, True])
        eventually(lambda: daemon.text("db") == "here")
        equal(daemon.text("web"), "here", "what was said before others were named")


@test("a program's ERRNO= and WATCHDOG_USEC= hold after a reload that changes its server")
def condition_stays():
    with Daemon("servers: { web: { notify: true } }\n") as daemon:
        def changed(server):
            daemon.file.write_text(f"servers: {{ web: {server} }}\n")
            daemon.done("reload")

        def says(message, level, text):
            send(daemon.notify_path("web"), message)
            eventually(lambda: daemon.text("web") == text)
            equal(daemon.describe("web")["status"]["level"], level)

        says("ERRNO=2\nSTATUS=bad", "critical", "bad")
        changed("{ notify: true, description: another }")
        says("STATUS=cleaning up", "critical", "cleaning up")
        changed("{ notify: { users: [root] }, description: another }")
        says("STATUS=still cleaning up", "critical", "still cleaning up")
        os.unlink(daemon.notify_path("web"))
        daemon.done("reload")
        says("STATUS=nearly done", "critical", "nearly done")
        says("READY=1\nSTATUS=well", "ok", "well")


def is_still_bad(daemon, user):
    """A user's program that has set ERRNO= and WATCHDOG_USEC= sends a text: both still apply."""
    as_user(user, send, daemon.notify_path("web"), "STATUS=still bad")
    eventually(lambda: daemon.text("web") == "still bad")
    equal(daemon.describe("web")["status"]["level"], "critical")
    eventually(lambda: daemon.describe("web")["stale"], "its own time holds")


def send_twice(path, text, is_time):
    """Sends the same text again through the same socket once there is a byte to read."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.connect(path)
        client.send(text.encode())
        os.read(is_time, 1)
        client.send(text.encode())


@test("a program's ERRNO= and WATCHDOG_USEC= stop applying soon after its user loses the right to send, even if it sends them again")
def condition_of_the_revoked():
    need_root()
    reading, writing = os.pipe()
    with Daemon("servers: { web: { notify: { users: [nobody] }, ttl: 1h } }\n") as daemon:
        text = "ERRNO=2\nSTATUS=bad\nWATCHDOG_USEC=86400000000"
        revoked = threading.Thread(target=as_user, args=(NOBODY, send_twice, daemon.notify_path("web"), text, reading))
        revoked.start()
        eventually(lambda: daemon.text("web") == "bad")
        daemon.file.write_text("servers: { web: { notify: true, ttl: 100ms } }\n")
        daemon.done("reload")
        os.write(writing, b"x")
        revoked.join()
        eventually(lambda: daemon.describe("web")["stale"], "the configuration's ttl holds")
        send(daemon.notify_path("web"), "STATUS=well")
        eventually(lambda: daemon.text("web") == "well")
        equal(daemon.describe("web")["status"]["level"], "ok")


@test("once a user loses the right to send, what it sent no longer overrides other users' notifications")
def undone_words():
    need_root()
    with Daemon("servers: { web: { notify: { users: [nobody] } } }\n") as daemon:
        send(daemon.notify_path("web"), "STATUS=bad\nERRNO=5\nWATCHDOG_USEC=500000")
        eventually(lambda: daemon.text("web") == "bad")
        as_user(NOBODY, send, daemon.notify_path("web"), "STATUS=fine\nREADY=1\nWATCHDOG_USEC=86400000000")
        eventually(lambda: daemon.text("web") == "fine")
        daemon.file.write_text("servers: { web: { notify: true } }\n")
        daemon.done("reload")
        is_still_bad(daemon, 0)


@test("notifications that a user sends just after losing the right do not count, even if the configuration is invalid by then")
def last_words_of_the_revoked():
    need_root()
    reading, writing = os.pipe()
    with Daemon("servers: { web: { notify: { users: [nobody] }, ttl: 1h } }\n") as daemon:
        def reloaded(users):
            daemon.file.write_text(f"servers: {{ web: {{ notify: {{ users: [{users}] }}, ttl: 1h }} }}\n")
            daemon.ctl("reload")

        text = "STATUS=bad\nERRNO=5\nWATCHDOG_USEC=100000"
        revoked = threading.Thread(target=as_user, args=(NOBODY, send_twice, daemon.notify_path("web"), text, reading))
        revoked.start()
        eventually(lambda: daemon.text("web") == "bad")
        reloaded("root")
        os.write(writing, b"x")
        revoked.join()
        reloaded("nosuchuser")
        reloaded("root")
        send(daemon.notify_path("web"), "STATUS=well")
        eventually(lambda: daemon.text("web") == "well")
        equal(daemon.describe("web")["status"]["level"], "ok")


@test("an unconfigured server's ERRNO= and WATCHDOG_USEC= survive a time in which its notify socket cannot be opened")
def guest_without_directory():
    with Daemon("accept: any\n") as daemon:
        daemon.done("post", "web", "here")
        send(daemon.notify_path("web"), "STATUS=bad\nERRNO=5\nWATCHDOG_USEC=2000000")
        eventually(lambda: daemon.text("web") == "bad")
        notify = os.path.dirname(daemon.notify_path("web"))
        os.rename(notify, notify + ".away")
        open(notify, "x").close()
        daemon.ctl("reload")
        os.unlink(notify)
        os.rename(notify + ".away", notify)
        daemon.done("reload")
        send(daemon.notify_path("web"), "STATUS=still bad")
        eventually(lambda: daemon.text("web") == "still bad")
        equal(daemon.describe("web")["status"]["level"], "critical")
        eventually(lambda: daemon.describe("web")["stale"], "its own time holds")


@test("ERRNO= and WATCHDOG_USEC= still apply after a temporarily invalid configuration, if their user may still send")
def source_made_anew():
    need_root()

    def is_wrong_for_a_while(daemon, users):
        for text in ("users: [nosuchuser]", users):
            daemon.file.write_text(f"servers: {{ web: {{ notify: {{ {text} }}, ttl: 1h }} }}\n")
            daemon.ctl("reload")
            equal(daemon.describe("web")["phase"], "failed" if "nosuchuser" in text else "loaded")

    with Daemon("servers: { web: { notify: { users: [nobody] }, ttl: 1h } }\n") as daemon:
        send(daemon.notify_path("web"), "STATUS=bad\nERRNO=5\nWATCHDOG_USEC=2000000")
        eventually(lambda: daemon.text("web") == "bad")
        is_wrong_for_a_while(daemon, "users: [nobody]")
        is_still_bad(daemon, 0)
        send(daemon.notify_path("web"), "STATUS=well again\nREADY=1")
        eventually(lambda: daemon.text("web") == "well again")
        as_user(NOBODY, send, daemon.notify_path("web"), "STATUS=bad again\nERRNO=5\nWATCHDOG_USEC=86400000000")
        eventually(lambda: daemon.text("web") == "bad again")
        is_wrong_for_a_while(daemon, "users: [root]")
        send(daemon.notify_path("web"), "STATUS=well")
        eventually(lambda: daemon.text("web") == "well")
        equal(daemon.describe("web")["status"]["level"], "ok")


@test("a program's ERRNO= and WATCHDOG_USEC= still apply when another program's user loses the right to send")
def condition_of_the_others():
    need_root()
    with Daemon(f"servers: {{ web: {{ notify: {{ users: [{NOBODY}, 1] }} }} }}\n") as daemon:
        as_user(NOBODY, send, daemon.notify_path("web"), "ERRNO=2\nSTATUS=bad\nWATCHDOG_USEC=2000000")
        eventually(lambda: daemon.text("web") == "bad")
        daemon.file.write_text(f"servers: {{ web: {{ notify: {{ users: [{NOBODY}] }} }} }}\n")
        daemon.done("reload")
        is_still_bad(daemon, NOBODY)


@test("a program stays connected to its notify socket over reloads that do not change its users")
def connected_program():
    with Daemon(CONFIGURATION) as daemon, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.connect(daemon.notify_path("web"))
        for number in range(5):
            daemon.file.write_text(f"servers:\n  web: {{ notify: true, description: number {number}, ttl: {number + 60} }}\n")
            daemon.done("reload")
            client.send(f"STATUS=number {number}".encode())
            eventually(lambda: daemon.text("web") == f"number {number}")


@test("no notification is refused or lost while reloads change the users of a notify socket")
def sending_over_reloads():
    def configure(daemon, users):
        daemon.file.write_text(f"servers: {{ web: {{ notify: {{ users: [{users}] }} }} }}\n")

    with Daemon("servers: { web: { notify: true } }\n") as daemon, daemon.connect() as connection:
        sent, failures, isOver = [], [], threading.Event()

        def keep_sending():
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
                while not isOver.is_set():
                    try:
                        # Descriptors, such as those of barriers, are released on another thread.
                        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [client.fileno()]))]
                        client.sendmsg([f"STATUS={len(sent)}".encode()], rights if len(sent) % 7 == 0 else [], 0,
                                       daemon.notify_path("web"))
                    except OSError as error:
                        failures.append(error)
                    sent.append(str(len(sent)))
                    time.sleep(0.0001)  # so that the reader keeps up

        def read(stream):
            for event in stream:
                assert event["kind"] == "changed", event
                text = event["server"]["status"]["text"]
                if text not in seen[-1:]:  # otherwise the server changed
                    seen.append(text)
                if text == "the end":
                    return

        stream, seen = connection.watch(server="web"), []
        next(stream)
        sender = threading.Thread(target=keep_sending)
        reader = threading.Thread(target=read, args=(stream,))
        for thread in sender, reader:
            thread.start()
        for number in range(30):
            configure(daemon, "root" if number % 2 else NOBODY)
            daemon.done("reload")
        isOver.set()
        sender.join()
        assert not failures, f"{len(failures)} of {len(sent)} were refused: {failures[0]}"
        send(daemon.notify_path("web"), "STATUS=the end")
        reader.join()
        equal(seen, sent + ["the end"], "texts")


@test("notify sockets are removed with their server and with the daemon")
def sockets_go():
    with Daemon(CONFIGURATION) as daemon:
        assert os.path.exists(daemon.notify_path("web"))
        daemon.file.write_text("servers:\n  db: { notify: true }\n")
        daemon.done("reload")
        assert os.path.exists(daemon.notify_path("db"))
        assert not os.path.exists(daemon.notify_path("web"))
        equal(daemon.stop(), 0, "exit status on SIGTERM")
        assert not os.path.exists(daemon.notify_path("db"))


@test("a daemon that stops says STOPPING=1 with a status")
def stopping():
    with Daemon(CONFIGURATION) as daemon:
        equal(daemon.stop(), 0, "exit status on SIGTERM")
        lines = daemon.manager.lines()
        equal(lines.count("STOPPING=1"), 1, "times STOPPING=1 was sent")
        place = lines.index("STOPPING=1")
        told = [line for line in lines[max(place - 1, 0):] if line.startswith("STATUS=")]
        assert told and told[-1] != "STATUS=no server selected", lines[-4:]
