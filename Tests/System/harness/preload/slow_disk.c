// SPDX-License-Identifier: Apache-2.0
// Preloaded, simulates a disk that does not answer: open(2) of a .yaml file waits while the file in SLOW_DISK exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for_disk(const char *path) {
    const char *flag = getenv("SLOW_DISK"), *end = strrchr(path, '.');
    while (flag && end && !strcmp(end, ".yaml") && !access(flag, F_OK)) usleep(10000);
}

#define REPLACE(name)                                                                  \
    int name(const char *path, int flags, ...) {                                       \
        static int (*real)(const char *, int, ...);                                    \
        va_list arguments;                                                             \
        va_start(arguments, flags);                                                    \
        int mode = va_arg(arguments, int);                                             \
        va_end(arguments);                                                             \
        if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);    \
        wait_for_disk(path);                                                           \
        return real(path, flags, mode);                                                \
    }

REPLACE(open)
REPLACE(open64)
