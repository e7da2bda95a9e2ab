// SPDX-License-Identifier: Apache-2.0
// The floor: a forked relay that takes a datagram, looks at its first number, and writes it to a stream. No protocol, no state.

#define _GNU_SOURCE
#include "peer.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int publisher;
static struct stream subscriber;

static void relay(int datagrams, int stream) {
    char message[4096];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_to_processor(1);
    for (;;) {
        ssize_t length = recv(datagrams, message, sizeof message - 1, 0);
        if (length <= 0) _exit(0);
        message[length] = '\0';
        if (atoi(message) == SELECTED && write(stream, message, (size_t)length + 1) < 0) _exit(1);
    }
}

static void raw_open(void) {
    int datagrams[2], streams[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) || socketpair(AF_UNIX, SOCK_STREAM, 0, streams)) fail("no sockets");
    if (fork() == 0) {
        close(datagrams[0]);
        close(streams[0]);
        relay(datagrams[1], streams[1]);
    }
    close(datagrams[1]);
    close(streams[1]);
    publisher = datagrams[0];
    subscriber.descriptor = streams[0];
}

static void raw_publish(int server, const char *text) {
    char message[256];
    int length = snprintf(message, sizeof message, "%d STATUS=%s", server, text);
    if (send(publisher, message, (size_t)length, 0) < 0) fail("the relay has gone");
}

static void raw_flush(void) {}

static const char *raw_receive(void) {
    size_t length;
    return next_message(&subscriber, &length);
}

const struct peer raw_peer = { "raw", raw_open, raw_publish, raw_flush, raw_receive };
