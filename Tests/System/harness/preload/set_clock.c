// SPDX-License-Identifier: Apache-2.0
// Preloaded, sets the wall clock of a program: the file named by SET_CLOCK has the seconds to add.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    const char *name = getenv("SET_CLOCK");
    int file = result == 0 && clock == CLOCK_REALTIME && name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return result;
    char text[32] = "";
    if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atoll(text);
    close(file);
    return result;
}
