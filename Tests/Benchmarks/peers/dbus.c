// SPDX-License-Identifier: Apache-2.0
// D-Bus signals through dbus-daemon (BENCH_DBUS), with sd-bus.

#include "peer.h"
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

static sd_bus *publisher, *subscriber;
static sd_bus_message *last;

static sd_bus *connect_bus(void) {
    sd_bus *bus;
    sd_bus_new(&bus);
    sd_bus_set_address(bus, setting("BENCH_DBUS"));
    sd_bus_set_bus_client(bus, 1);
    if (sd_bus_start(bus) < 0) fail("cannot connect to D-Bus");
    return bus;
}

static int on_signal(sd_bus_message *message, void *context, sd_bus_error *error) {
    (void)context, (void)error;
    sd_bus_message_unref(last);
    last = sd_bus_message_ref(message);
    return 0;
}

static void dbus_open(void) {
    char rule[256];
    publisher = connect_bus();
    subscriber = connect_bus();
    snprintf(
        rule, sizeof rule,
        "type='signal',interface='org.example.Status',member='didUpdateStatus',path='/server/%d'", SELECTED);
    if (sd_bus_add_match(subscriber, NULL, rule, on_signal, NULL) < 0) fail("D-Bus refuses a match");
}

static void dbus_publish(int server, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "/server/%d", server);
    if (sd_bus_emit_signal(publisher, path, "org.example.Status", "didUpdateStatus", "s", text) < 0) fail("D-Bus refuses a signal");
}

static void dbus_flush(void) { sd_bus_flush(publisher); }

static const char *dbus_receive(void) {
    const char *text = NULL;
    sd_bus_message *before = last;
    while (last == before) {
        int result = sd_bus_process(subscriber, NULL);
        if (result < 0) fail("D-Bus closed the connection");
        if (result == 0) sd_bus_wait(subscriber, 1000000);
    }
    sd_bus_message_read(last, "s", &text);
    return text;
}

const struct peer dbus_peer = { "dbus", dbus_open, dbus_publish, dbus_flush, dbus_receive };
