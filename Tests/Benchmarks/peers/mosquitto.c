// SPDX-License-Identifier: Apache-2.0
// MQTT through mosquitto, quality of service 0, on a loopback port (BENCH_MOSQUITTO).

#include "peer.h"
#include <mosquitto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mosquitto *publisher, *subscriber;
static volatile int received;
static int taken;

static void on_message(struct mosquitto *client, void *context, const struct mosquitto_message *message) {
    (void)client, (void)context, (void)message;
    received++;
}

static struct mosquitto *connect_mosquitto(const char *name) {
    struct mosquitto *client = mosquitto_new(name, true, NULL);
    mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
    if (mosquitto_connect(client, "127.0.0.1", atoi(setting("BENCH_MOSQUITTO")), 600)) fail("cannot connect to mosquitto");
    return client;
}

static void mosquitto_open(void) {
    char topic[64];
    mosquitto_lib_init();
    publisher = connect_mosquitto("publisher");
    subscriber = connect_mosquitto("subscriber");
    mosquitto_message_callback_set(subscriber, on_message);
    snprintf(topic, sizeof topic, "status/%d", SELECTED);
    mosquitto_subscribe(subscriber, NULL, topic, 0);
    for (int i = 0; i < 50; i++) {
        mosquitto_loop(publisher, 2, 1);
        mosquitto_loop(subscriber, 2, 1);
    }
}

static void mosquitto_flush(void) {
    while (mosquitto_want_write(publisher)) mosquitto_loop_write(publisher, 1);
}

static void mosquitto_publish_text(int server, const char *text) {
    char topic[64];
    snprintf(topic, sizeof topic, "status/%d", server);
    if (mosquitto_publish(publisher, NULL, topic, (int)strlen(text), text, 0, false)) fail("mosquitto refuses a message");
    mosquitto_flush();
}

static const char *mosquitto_receive(void) {
    while (received <= taken) {
        struct pollfd descriptor = { mosquitto_socket(subscriber), POLLIN, 0 };
        poll(&descriptor, 1, 1000);
        if (mosquitto_loop_read(subscriber, 100)) fail("mosquitto closed the connection");
    }
    taken++;
    return NULL;
}

const struct peer mosquitto_peer = {
    "mosquitto", mosquitto_open, mosquitto_publish_text, mosquitto_flush, mosquitto_receive,
};
