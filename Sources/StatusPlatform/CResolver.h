// SPDX-License-Identifier: Apache-2.0
// The parser of DNS messages in glibc's resolver library, whose macros and opaque structures Swift cannot use.
#pragma once
#include "CLinux.h" /* so that types which these headers also include are CLinux's */
#include <arpa/nameser.h>

/* A record of a message; `data` points into the message. */
struct resolver_record {
    /* The owner, without the final dot, and with the escapes of master files. */
    char name[NS_MAXDNAME];
    uint16_t type, class;
    uint32_t ttl;
    size_t length;
    const uint8_t *_Nullable data;
};

/* Reads the record `number` of a section, of which 0 has the question; false if there is none, or if it is invalid. */
static inline bool resolver_read(
    ns_msg *_Nonnull message, int section, int number, struct resolver_record *_Nonnull record
) {
    ns_rr read;
    if (number >= ns_msg_count(*message, section) || ns_parserr(message, (ns_sect)section, number, &read) != 0) {
        return false;
    }
    memcpy(record->name, read.name, sizeof record->name);
    record->type = read.type;
    record->class = read.rr_class;
    record->ttl = read.ttl;
    record->length = read.rdlength;
    record->data = read.rdata;
    return true;
}

/* Expands the name at `from`, which may be compressed; returns the bytes that it takes there, or -1 if it is
 * invalid. */
static inline int resolver_expand(
    const ns_msg *_Nonnull message, const uint8_t *_Nonnull from, char name[_Nonnull NS_MAXDNAME]
) {
    return ns_name_uncompress(ns_msg_base(*message), ns_msg_end(*message), from, name, NS_MAXDNAME);
}
