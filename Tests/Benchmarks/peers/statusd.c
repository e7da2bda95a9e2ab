// SPDX-License-Identifier: Apache-2.0
// statusd: Post (oneway, pipelined) or sd_notify datagrams on one side, Watch on the other.
//
// BENCH_STATUSD is the directory of its sockets. The revisions of the stream's lines must increase.

#define _GNU_SOURCE
#include "peer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int publisher;
static struct stream subscriber;
static char output[1 << 16];
static size_t output_length;
static long last_revision;

static void write_all(int descriptor, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t count = write(descriptor, bytes, length);
        if (count <= 0) fail("statusd closed the connection");
        bytes += count;
        length -= (size_t)count;
    }
}

static void statusd_flush(void) {
    write_all(publisher, output, output_length);
    output_length = 0;
}

static void statusd_publish(int server, const char *text) {
    if (output_length > sizeof output - 512) statusd_flush();
    int length = snprintf(
        output + output_length, sizeof output - output_length,
        "{\"method\":\"org.statusd.monitor.Post\",\"parameters\":{\"server\":\"srv%d\",\"text\":\"%s\"},\"oneway\":true}",
        server, text);
    output_length += (size_t)length + 1;
}

static void statusd_open(void) {
    char path[256], call[256];
    size_t length;
    snprintf(path, sizeof path, "%s/org.statusd.monitor", setting("BENCH_STATUSD"));
    publisher = connect_unix(path, SOCK_STREAM);
    subscriber.descriptor = connect_unix(path, SOCK_STREAM);
    statusd_publish(SELECTED, "first");
    statusd_flush();
    usleep(300000);
    int count = snprintf(
        call, sizeof call,
        "{\"method\":\"org.statusd.monitor.Watch\",\"parameters\":{\"server\":\"srv%d\"},\"more\":true}", SELECTED);
    write_all(subscriber.descriptor, call, (size_t)count + 1);
    char *message = next_message(&subscriber, &length);
    if (!strstr(message, "\"snapshot\"")) fail("statusd sent no snapshot: %s", message);
}

static const char *statusd_receive(void) {
    for (;;) {
        size_t length;
        char *message = next_message(&subscriber, &length);
        char *revision = memmem(message, length, "\"revision\":", 11);
        long number = revision ? atol(revision + 11) : 0;
        if (memmem(message, length, "\"changed\"", 9)) {
            if (number <= last_revision) fail("statusd went back from revision %ld to %ld", last_revision, number);
            last_revision = number;
            return message;
        }
        char *missed = memmem(message, length, "\"missed\":", 9);
        if (missed) {
            missed_updates += atol(missed + 9);
            return NULL;
        }
    }
}

static int notify_sockets[SERVERS];

static void notify_publish(int server, const char *text) {
    char message[256], path[256];
    if (notify_sockets[server] == 0) {
        snprintf(path, sizeof path, "%s/notify/srv%d", setting("BENCH_STATUSD"), server);
        notify_sockets[server] = connect_unix(path, SOCK_DGRAM);
    }
    int length = snprintf(message, sizeof message, "STATUS=%s", text);
    if (send(notify_sockets[server], message, (size_t)length, 0) < 0) fail("statusd takes no notification");
}

static void notify_flush(void) {}

const struct peer statusd_peer = { "statusd", statusd_open, statusd_publish, statusd_flush, statusd_receive };
const struct peer notify_peer = { "notify", statusd_open, notify_publish, notify_flush, statusd_receive };
