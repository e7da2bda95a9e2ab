// SPDX-License-Identifier: Apache-2.0
// What main.c measures: a way from one publisher to one subscriber of one server among many.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { SERVERS = 1000, SELECTED = 42 };

struct peer {
    const char *name;
    // Connects the publisher and the subscriber, who follows the server SELECTED.
    void (*open)(void);
    // Publishes a text of a server; it may be buffered.
    void (*publish)(int server, const char *text);
    // Sends what is buffered.
    void (*flush)(void);
    // Waits for the next text of the selected server; NULL if the peer does not show it.
    const char *(*receive)(void);
};

extern const struct peer raw_peer, redis_peer, mosquitto_peer, nats_peer, dbus_peer, statusd_peer, notify_peer;

// How many updates the subscriber was told that it missed.
extern long missed_updates;

// Ends the program with a message, because the peer does not do what it should.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A stream of messages that end in NUL.
struct stream {
    int descriptor;
    char buffer[1 << 18];
    size_t from, until;
};

// Waits for the next message; it stays until the next call. The length is without the NUL.
char *next_message(struct stream *stream, size_t *length);

// A connected Unix socket.
int connect_unix(const char *path, int type);
// Runs this process on a processor of its own, the first or second of BENCH_CPUS; does nothing if that is empty.
void pin_to_processor(int number);
// The value of an environment variable that must be set.
const char *setting(const char *name);
