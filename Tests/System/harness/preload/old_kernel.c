// SPDX-License-Identifier: Apache-2.0
// Preloaded, makes setsockopt(2) and getsockopt(2) answer as a kernel before Linux 6.16, which does not know SO_PASSRIGHTS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

enum { PASSRIGHTS = 83 };

int setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
    static int (*real)(int, int, int, const void *, socklen_t);
    if (level == SOL_SOCKET && name == PASSRIGHTS) return errno = ENOPROTOOPT, -1;
    if (!real) real = (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
    return real(fd, level, name, value, length);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length) {
    static int (*real)(int, int, int, void *, socklen_t *);
    if (level == SOL_SOCKET && name == PASSRIGHTS) return errno = ENOPROTOOPT, -1;
    if (!real) real = (int (*)(int, int, int, void *, socklen_t *))dlsym(RTLD_NEXT, "getsockopt");
    return real(fd, level, name, value, length);
}
