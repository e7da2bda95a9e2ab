// SPDX-License-Identifier: Apache-2.0
// libcurl's types, and its functions as dlsym(3) finds them: nothing here links the library.
#pragma once
#define CURL_DISABLE_TYPECHECK /* the checks are macros that name the functions themselves */
#include "CLinux.h" /* so that types which libcurl's headers also include are CLinux's */
#include <curl/curl.h>
#include <dlfcn.h>
#include <time.h>

/* The headers declare them only with _XOPEN_SOURCE and _GNU_SOURCE, without which Swift imports these headers. */
extern char *strptime(const char *text, const char *format, struct tm *time);
extern void *_Nullable memmem(
    const void *_Nullable text, size_t length, const void *_Nullable part, size_t part_length);

/* Every function in use, with its type in the header. */
#define STATUSD_CURL_FUNCTIONS(EACH) \
    EACH(global_init) \
    EACH(version_info) \
    EACH(easy_init) \
    EACH(easy_cleanup) \
    EACH(easy_setopt) \
    EACH(easy_getinfo) \
    EACH(easy_header) \
    EACH(easy_strerror) \
    EACH(slist_append) \
    EACH(slist_free_all) \
    EACH(url) \
    EACH(url_set) \
    EACH(url_get) \
    EACH(url_cleanup) \
    EACH(free) \
    EACH(multi_init) \
    EACH(multi_cleanup) \
    EACH(multi_setopt) \
    EACH(multi_add_handle) \
    EACH(multi_remove_handle) \
    EACH(multi_perform) \
    EACH(multi_poll) \
    EACH(multi_info_read)

struct statusd_curl {
#define STATUSD_CURL_MEMBER(name) __typeof__(curl_##name) *_Nonnull name;
    STATUSD_CURL_FUNCTIONS(STATUSD_CURL_MEMBER)
#undef STATUSD_CURL_MEMBER
};

/* Finds the functions in a library; returns the name of a missing one, or NULL. */
static inline const char *_Nullable statusd_curl_find(void *_Nonnull library, struct statusd_curl *_Nonnull curl) {
    void *symbol;
#define STATUSD_CURL_FIND(name) \
    if (!(symbol = dlsym(library, "curl_" #name))) return "curl_" #name; \
    curl->name = (__typeof__(curl_##name) *)symbol;
    STATUSD_CURL_FUNCTIONS(STATUSD_CURL_FIND)
#undef STATUSD_CURL_FIND
    return NULL;
}

/* The variadic functions, one for each type of argument. */

static inline CURLcode statusd_curl_set_long(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy, CURLoption option, long value
) {
    return curl->easy_setopt(easy, option, value);
}

static inline CURLcode statusd_curl_set_pointer(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy, CURLoption option, const void *_Nullable value
) {
    return curl->easy_setopt(easy, option, value);
}

static inline CURLcode statusd_curl_set_writer(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy, curl_write_callback _Nonnull writer,
    void *_Nullable context
) {
    CURLcode code = curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, writer);
    return code ? code : curl->easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

static inline CURLcode statusd_curl_set_header_reader(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy, curl_write_callback _Nonnull reader,
    void *_Nullable context
) {
    CURLcode code = curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, reader);
    return code ? code : curl->easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

static inline CURLcode statusd_curl_set_opener(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy, curl_opensocket_callback _Nonnull opener,
    void *_Nullable context
) {
    CURLcode code = curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, opener);
    return code ? code : curl->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
}

static inline CURLMcode statusd_curl_set_multi_long(
    const struct statusd_curl *_Nonnull curl, CURLM *_Nonnull multi, CURLMoption option, long value
) {
    return curl->multi_setopt(multi, option, value);
}

/* Each returns 0, or NULL, if libcurl has no value. */

static inline long statusd_curl_get_long(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy, CURLINFO info
) {
    long value = 0;
    return curl->easy_getinfo(easy, info, &value) ? 0 : value;
}

static inline const char *_Nullable statusd_curl_get_string(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy, CURLINFO info
) {
    const char *value = NULL;
    return curl->easy_getinfo(easy, info, &value) ? NULL : value;
}

static inline struct curl_certinfo *_Nullable statusd_curl_get_certificates(
    const struct statusd_curl *_Nonnull curl, CURL *_Nonnull easy
) {
    struct curl_certinfo *value = NULL;
    return curl->easy_getinfo(easy, CURLINFO_CERTINFO, &value) ? NULL : value;
}
