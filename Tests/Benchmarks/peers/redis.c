// SPDX-License-Identifier: Apache-2.0
// Redis' PUBLISH and SUBSCRIBE over a Unix socket (BENCH_REDIS), with hiredis.

#include "peer.h"
#include <hiredis/hiredis.h>

static redisContext *publisher, *subscriber;
static redisReply *last;
static int unanswered;

static redisContext *connect_redis(void) {
    redisContext *context = redisConnectUnix(setting("BENCH_REDIS"));
    if (!context || context->err) fail("cannot connect to redis");
    return context;
}

static void redis_open(void) {
    publisher = connect_redis();
    subscriber = connect_redis();
    freeReplyObject(redisCommand(subscriber, "SUBSCRIBE status.%d", SELECTED));
}

static void redis_flush(void) {
    for (; unanswered > 0; unanswered--) {
        void *reply;
        if (redisGetReply(publisher, &reply)) fail("redis closed the connection");
        freeReplyObject(reply);
    }
}

static void redis_publish(int server, const char *text) {
    redisAppendCommand(publisher, "PUBLISH status.%d %s", server, text);
    if (++unanswered >= 512) redis_flush();
}

static const char *redis_receive(void) {
    if (last) freeReplyObject(last);
    if (redisGetReply(subscriber, (void **)&last) || last->elements != 3) fail("redis closed the connection");
    return last->element[2]->str;
}

const struct peer redis_peer = { "redis", redis_open, redis_publish, redis_flush, redis_receive };
