// SPDX-License-Identifier: Apache-2.0
// Preloaded, applies the plan in the file STORE_PLAN to calls on files in the folder STORE_FOLDER, and writes each
// counted call to the file STORE_CALLS. The plan is a line with an action, calls, a file's name and a number
// (faulty_store.py); it is read again before each call, and calls are counted from 1 again when it changes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { LONGEST = 256, DESCRIPTORS = 1024 };
// DIE_LATER: after the call. HALVE: the call does half of its work, then the process dies. DROP: the call only claims that it was made.
enum action { NONE, FAIL, DIE_LATER, HALVE, DROP };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char names[DESCRIPTORS][64];  // of open files in the folder
static char plan[LONGEST];
static int count;

// A function of the C library by its name.
#define REAL(type, name, ...)                                  \
    static type (*real)(__VA_ARGS__);                          \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

static const char *name_in_folder(const char *path) {
    const char *folder = getenv("STORE_FOLDER");
    size_t length = folder ? strlen(folder) : 0;
    if (!length || strncmp(path, folder, length)) return NULL;
    return path[length] == '/' ? path + length + 1 : path[length] ? NULL : ".";
}

static const char *name_of(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS && *names[descriptor] ? names[descriptor] : NULL;
}

static void note(const char *call, const char *name) {
    char line[LONGEST];
    int length = snprintf(line, sizeof line, "%s %s\n", call, name);
    int file = (int)syscall(SYS_openat, AT_FDCWD, getenv("STORE_CALLS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    syscall(SYS_write, file, line, length);
    syscall(SYS_close, file);
}

static void read_plan(void) {
    char text[LONGEST] = "";
    int file = (int)syscall(SYS_openat, AT_FDCWD, getenv("STORE_PLAN"), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        syscall(SYS_read, file, text, sizeof text - 1);
        syscall(SYS_close, file);
    }
    if (!strcmp(text, plan)) return;
    strcpy(plan, text);
    count = 0;
}

// The planned action for a call; waits if that is planned. Sets errno for FAIL.
static enum action planned(const char *call, const char *name) {
    if (!name) return NONE;
    int is_change = strcmp(call, "read") && strcmp(call, "look");
    for (int is_first = 1;; is_first = 0) {
        char action[16] = "", calls[64] = "", file[64] = "";
        int number = 0;
        pthread_mutex_lock(&mutex);
        read_plan();
        int fields = sscanf(plan, "%15s %63s %63s %d", action, calls, file, &number);
        char list[80], wanted[40];
        snprintf(list, sizeof list, ",%s,", calls);
        snprintf(wanted, sizeof wanted, ",%s,", call);
        int is_meant = fields == 4 && (!strcmp(file, "*") || !strcmp(file, name)) &&
                       (strcmp(calls, "*") ? strstr(list, wanted) != NULL : is_change);
        if (is_first && is_change) note(call, name);
        int this = is_meant && is_first ? ++count : 0;
        pthread_mutex_unlock(&mutex);
        if (!is_meant) return NONE;
        if (!strcmp(action, "fail")) return errno = number, FAIL;
        if (strcmp(action, "hang")) {
            if (this != number) return NONE;
            if (!strcmp(action, "before")) die();
            return !strcmp(action, "after") ? DIE_LATER : !strcmp(action, "half") ? HALVE : DROP;
        }
        usleep(20000);
    }
}

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        REAL(int, name, const char *, int, ...);                                    \
        va_list arguments;                                                          \
        va_start(arguments, flags);                                                 \
        int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;                    \
        va_end(arguments);                                                          \
        const char *file = name_in_folder(path);                                    \
        enum action action = planned(flags & O_CREAT ? "open" : "look", file);      \
        if (action == FAIL) return -1;                                              \
        int result = real(path, flags, mode);                                       \
        if (action == DIE_LATER || action == HALVE) die();                          \
        if (file && result >= 0 && result < DESCRIPTORS)                            \
            snprintf(names[result], sizeof names[result], "%s", file);              \
        return result;                                                              \
    }
OPEN(open)
OPEN(open64)

int close(int descriptor) {
    REAL(int, close, int);
    if (descriptor >= 0 && descriptor < DESCRIPTORS) *names[descriptor] = 0;
    return real(descriptor);
}

#define PREAD(name, offset_type)                                                    \
    ssize_t name(int descriptor, void *bytes, size_t length, offset_type offset) {  \
        REAL(ssize_t, name, int, void *, size_t, offset_type);                      \
        if (planned("read", name_of(descriptor)) == FAIL) return -1;                \
        return real(descriptor, bytes, length, offset);                             \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

#define PWRITE(name, offset_type)                                                         \
    ssize_t name(int descriptor, const void *bytes, size_t length, offset_type offset) {  \
        REAL(ssize_t, name, int, const void *, size_t, offset_type);                      \
        enum action action = planned("write", name_of(descriptor));                       \
        if (action == FAIL) return -1;                                                    \
        if (action == DROP) return (ssize_t)length;                                       \
        ssize_t result = real(descriptor, bytes, action == HALVE ? length / 2 : length, offset); \
        if (action == DIE_LATER || action == HALVE) die();                                \
        return result;                                                                    \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

// Calls that cannot be half done.
#define WHOLE(name, call, declaration, types, file, arguments)                 \
    int name declaration {                                                     \
        static int(*real) types;                                               \
        if (!real) real = (int(*) types)dlsym(RTLD_NEXT, #name);               \
        enum action action = planned(call, file);                              \
        if (action == FAIL) return -1;                                         \
        if (action == DROP) return 0;                                          \
        int result = real arguments;                                           \
        if (action == DIE_LATER || action == HALVE) die();                     \
        return result;                                                         \
    }
WHOLE(ftruncate, "truncate", (int file, off_t length), (int, off_t), name_of(file), (file, length))
WHOLE(ftruncate64, "truncate", (int file, off64_t length), (int, off64_t), name_of(file), (file, length))

// A file in the folder is not synchronized: only a power failure could show that, and it takes most of the time.
#define SYNC(name)                                                  \
    int name(int descriptor) {                                      \
        REAL(int, name, int);                                       \
        const char *file = name_of(descriptor);                     \
        enum action action = planned("sync", file);                 \
        if (action == FAIL) return -1;                              \
        if (action == DIE_LATER || action == HALVE) die();          \
        return file ? 0 : real(descriptor);                         \
    }
SYNC(fsync)
SYNC(fdatasync)
WHOLE(unlink, "unlink", (const char *path), (const char *), name_in_folder(path), (path))
WHOLE(rename, "rename", (const char *old, const char *new), (const char *, const char *), name_in_folder(old), (old, new))
