// SPDX-License-Identifier: Apache-2.0
// PCRE2's functions as dlsym(3) finds them: nothing here links the library, and its headers are not needed. The names
// end in the width of a code unit. The declarations are those of pcre2.h, whose types stay as long as libpcre2-8.so.0.
#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

static const uint32_t STATUSD_PCRE_AUTO_CALLOUT = 0x00000004;
static const uint32_t STATUSD_PCRE_UTF = 0x00080000;
static const uint32_t STATUSD_PCRE_NEVER_BACKSLASH_C = 0x00100000;
static const uint32_t STATUSD_PCRE_MATCH_INVALID_UTF = 0x04000000;

static const int STATUSD_PCRE_NO_MATCH = -1;
static const int STATUSD_PCRE_CALLOUT_FAILED = -37;

typedef int (*_Nonnull statusd_pcre_callout)(void *_Nullable block, void *_Nullable context);

struct statusd_pcre {
    void *_Nullable (*_Nonnull compile)(
        const uint8_t *_Nonnull pattern, size_t length, uint32_t options, int *_Nonnull error, size_t *_Nonnull offset,
        void *_Nullable context);
    void (*_Nonnull code_free)(void *_Nullable code);
    int (*_Nonnull get_error_message)(int error, uint8_t *_Nonnull buffer, size_t length);
    void *_Nullable (*_Nonnull match_data_create)(uint32_t pairs, void *_Nullable context);
    void (*_Nonnull match_data_free)(void *_Nullable data);
    void *_Nullable (*_Nonnull match_context_create)(void *_Nullable context);
    void (*_Nonnull match_context_free)(void *_Nullable context);
    int (*_Nonnull set_callout)(void *_Nonnull match, statusd_pcre_callout callout, void *_Nullable context);
    int (*_Nonnull set_heap_limit)(void *_Nonnull match, uint32_t kibibytes);
    int (*_Nonnull set_match_limit)(void *_Nonnull match, uint32_t steps);
    int (*_Nonnull match)(
        const void *_Nonnull code, const uint8_t *_Nonnull subject, size_t length, size_t start, uint32_t options,
        void *_Nonnull data, void *_Nullable match);
};

/* Finds the functions in a library; returns whether it has all of them. */
static inline _Bool statusd_pcre_find(void *_Nonnull library, struct statusd_pcre *_Nonnull pcre) {
    void *symbol;
#define STATUSD_PCRE_FIND(name) \
    if (!(symbol = dlsym(library, "pcre2_" #name "_8"))) return 0; \
    pcre->name = (__typeof__(pcre->name))symbol;
    STATUSD_PCRE_FIND(compile)
    STATUSD_PCRE_FIND(code_free)
    STATUSD_PCRE_FIND(get_error_message)
    STATUSD_PCRE_FIND(match_data_create)
    STATUSD_PCRE_FIND(match_data_free)
    STATUSD_PCRE_FIND(match_context_create)
    STATUSD_PCRE_FIND(match_context_free)
    STATUSD_PCRE_FIND(set_callout)
    STATUSD_PCRE_FIND(set_heap_limit)
    STATUSD_PCRE_FIND(set_match_limit)
    STATUSD_PCRE_FIND(match)
#undef STATUSD_PCRE_FIND
    return 1;
}
