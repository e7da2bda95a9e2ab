// SPDX-License-Identifier: Apache-2.0
// Delivers status updates through a peer, and prints how quickly as JSON.
//
//   peers PEER latency N    one update in flight; p50 and p99 in microseconds
//   peers PEER selected N   N updates of the selected server, pipelined; updates a second until the last is received
//   peers PEER fanin N      N updates over 1000 servers, one of which is followed; updates a second until its last is received
//
// The texts carry numbers. If the peer shows them, each is checked: none is missing, repeated or out of order.

#define _GNU_SOURCE
#include "peer.h"
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

long missed_updates;

static const struct peer *const peers[] = {
    &raw_peer, &redis_peer, &mosquitto_peer, &nats_peer, &dbus_peer, &statusd_peer, &notify_peer,
};
static const struct peer *peer;
static long published, expected, step;

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("peers: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

const char *setting(const char *name) {
    const char *value = getenv(name);
    if (!value) fail("%s is not set", name);
    return value;
}

int connect_unix(const char *path, int type) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int descriptor = socket(AF_UNIX, type, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address)) fail("cannot connect to %s", path);
    return descriptor;
}

char *next_message(struct stream *stream, size_t *length) {
    for (;;) {
        char *start = stream->buffer + stream->from;
        char *end = memchr(start, 0, stream->until - stream->from);
        if (end) {
            *length = (size_t)(end - start);
            stream->from = (size_t)(end - stream->buffer) + 1;
            return start;
        }
        stream->until -= stream->from;
        memmove(stream->buffer, start, stream->until);
        stream->from = 0;
        char *room = stream->buffer + stream->until;
        ssize_t count = read(stream->descriptor, room, sizeof stream->buffer - stream->until);
        if (count <= 0) fail("%s closed the stream", peer->name);
        stream->until += (size_t)count;
    }
}

void pin_to_processor(int number) {
    const char *text = getenv("BENCH_CPUS");
    int processors[2];
    cpu_set_t set;
    if (!text || sscanf(text, "%d %d", &processors[0], &processors[1]) != 2) return;
    CPU_ZERO(&set);
    CPU_SET(processors[number], &set);
    sched_setaffinity(0, sizeof set, &set);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void publish(int server) {
    char text[64];
    snprintf(text, sizeof text, "Signed In as operator (session %010ld)", published++);
    peer->publish(server, text);
}

// Takes one update, and checks that it is the next one, apart from those reported as missed.
static void receive(void) {
    static long pending_missed, counted_missed;
    if (pending_missed > 0) {
        pending_missed--;
        expected += step;
        return;
    }
    const char *text = peer->receive();
    if (missed_updates > counted_missed) {
        pending_missed = missed_updates - counted_missed - 1;
        counted_missed = missed_updates;
        expected += step;
        return;
    }
    const char *number = text ? strstr(text, "session ") : NULL;
    if (number && atol(number + strlen("session ")) != expected)
        fail("%s delivered update %ld in the place of %ld", peer->name, atol(number + 8), expected);
    expected += step;
}

static void *receive_all(void *count) {
    for (long i = 0; i < *(long *)count; i++) receive();
    return NULL;
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void measure_latency(long count) {
    double *times = malloc((size_t)count * sizeof *times);
    for (long i = -500; i < count; i++) {
        double began = now();
        publish(SELECTED);
        peer->flush();
        receive();
        if (i >= 0) times[i] = now() - began;
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("{\"p50\": %.2f, \"p99\": %.2f", times[count / 2] * 1e6, times[count * 99 / 100] * 1e6);
}

// Publishes rounds of updates, the last of each for the selected server, while another thread receives.
static void measure_rate(long rounds, int servers) {
    pthread_t receiver;
    step = servers;
    expected = servers - 1;
    double began = now();
    pthread_create(&receiver, NULL, receive_all, &rounds);
    for (long round = 0; round < rounds; round++)
        for (int i = 0; i < servers; i++) {
            bool is_last = i == servers - 1;
            publish(is_last ? SELECTED : i == SELECTED ? SERVERS - 1 : i);
        }
    peer->flush();
    pthread_join(receiver, NULL);
    printf("{\"rate\": %.0f", (double)(rounds * servers) / (now() - began));
}

int main(int count, char **words) {
    if (count != 4) fail("usage: peers PEER latency|selected|fanin N");
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (!strcmp(peers[i]->name, words[1])) peer = peers[i];
    long updates = atol(words[3]);
    if (!peer || updates <= 0) fail("unknown peer %s", words[1]);
    pin_to_processor(0);
    peer->open();
    step = 1;
    if (!strcmp(words[2], "latency")) measure_latency(updates);
    else if (!strcmp(words[2], "selected")) measure_rate(updates, 1);
    else measure_rate((updates + SERVERS - 1) / SERVERS, SERVERS);
    printf(", \"missed\": %ld}\n", missed_updates);
    fflush(stdout);
    _exit(0);  // do not wait for the libraries' threads
}
