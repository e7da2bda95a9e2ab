// SPDX-License-Identifier: Apache-2.0
// NATS, on a loopback port (BENCH_NATS).

#include "peer.h"
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>

static natsConnection *publisher, *subscriber;
static natsSubscription *subscription;
static natsMsg *last;

static void nats_open_peer(void) {
    char address[64], subject[64];
    snprintf(address, sizeof address, "nats://127.0.0.1:%d", atoi(setting("BENCH_NATS")));
    snprintf(subject, sizeof subject, "status.%d", SELECTED);
    if (natsConnection_ConnectTo(&publisher, address) || natsConnection_ConnectTo(&subscriber, address)) fail("cannot connect to NATS");
    natsConnection_SubscribeSync(&subscription, subscriber, subject);
    natsSubscription_SetPendingLimits(subscription, -1, -1);
    natsConnection_Flush(subscriber);
}

static void nats_publish(int server, const char *text) {
    char subject[64];
    snprintf(subject, sizeof subject, "status.%d", server);
    natsConnection_PublishString(publisher, subject, text);
}

static void nats_flush(void) { natsConnection_Flush(publisher); }

static const char *nats_receive(void) {
    if (last) natsMsg_Destroy(last);
    if (natsSubscription_NextMsg(&last, subscription, 10000)) fail("NATS delivers nothing");
    return natsMsg_GetData(last);
}

const struct peer nats_peer = { "nats", nats_open_peer, nats_publish, nats_flush, nats_receive };
