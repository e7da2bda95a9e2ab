// SPDX-License-Identifier: Apache-2.0
// Preloaded, makes each directory return one entry before the disk fails.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

struct dirent *readdir(DIR *directory) {
    static DIR *last;
    static struct dirent *(*real)(DIR *);
    if (!real) real = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
    if (last == directory) {
        errno = EIO;
        return NULL;
    }
    last = directory;
    return real(directory);
}

struct dirent64 *readdir64(DIR *directory) { return (struct dirent64 *)readdir(directory); }
