// SPDX-License-Identifier: Apache-2.0
// Macros and functions that Swift does not import.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <wchar.h>

/* GNU extensions. The headers declare them only with _GNU_SOURCE, which Swift's module of them does not define. */
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
/* The columns of a character on a terminal (wcwidth(3)); -1 if the locale's table lacks the character. */
extern int wcwidth(wchar_t character);

/* environ(7), which Swift cannot read as a variable. */
extern char **environ;
static inline char *_Nullable *_Nullable linux_environment(void) { return environ; }

/* prctl(2), which takes a variable number of arguments. */
static inline int linux_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
static inline int linux_refuse_tracers(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* pidfd_open(2) and pidfd_send_signal(2), for which Debian 12 has no functions. */
static inline int linux_open_process(int32_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }
static inline int linux_signal_process(int descriptor, int number) {
    return (int)syscall(SYS_pidfd_send_signal, descriptor, number, NULL, 0);
}

/* struct ucred needs _GNU_SOURCE, which importers may not have defined. */
struct linux_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

/* The most descriptors that one message can carry: SCM_MAX_FD in the kernel's net/scm.h. */
#define LINUX_MAX_DESCRIPTORS 253

/* What came with received bytes. */
struct linux_arrival {
    /* The flags that recvmsg(2) returned, such as MSG_TRUNC. */
    int flags;
    /* The sender, if the socket has SO_PASSCRED; otherwise its uid is UINT32_MAX. */
    struct linux_credentials sender;
    /* The descriptors that came along, which the receiver must close. */
    size_t count;
    int descriptors[LINUX_MAX_DESCRIPTORS];
};

/* Receives bytes without waiting, and returns the result of recvmsg(2). There is room for all descriptors of a message,
   because the kernel closes those without room during the call, which may block. */
static inline ssize_t linux_receive(int fd, void *bytes, size_t size, struct linux_arrival *arrival) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(LINUX_MAX_DESCRIPTORS * sizeof(int)) + CMSG_SPACE(sizeof(struct linux_credentials))
                  + 1024];
    } control;
    struct iovec vector = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = received < 0 ? NULL : CMSG_FIRSTHDR(&message);
    arrival->flags = message.msg_flags;
    arrival->count = 0;
    arrival->sender = (struct linux_credentials){.pid = 0, .uid = UINT32_MAX, .gid = UINT32_MAX};
    for (; header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET) continue;
        if (header->cmsg_type == SCM_RIGHTS) {
            arrival->count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            memcpy(arrival->descriptors, CMSG_DATA(header), arrival->count * sizeof(int));
        } else if (header->cmsg_type == 2 /* SCM_CREDENTIALS */) {
            memcpy(&arrival->sender, CMSG_DATA(header), sizeof arrival->sender);
        }
    }
    return received;
}

/* The hook of Swift's concurrency runtime (swift/Runtime/Concurrency.h) for programs with an event loop of their own.
   It has Swift's calling convention, so it cannot be written in Swift. */
extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *job, void *original);

/* Runs a job of Swift's concurrency runtime as soon as possible; EventLoopIO defines it. */
extern void statusd_enqueue(void *job);

static inline __attribute__((swiftcall)) void linux_enqueue_global(void *job, void *original) {
    (void)original;
    statusd_enqueue(job);
}

/* Has that function called with each job of Swift's global executor; before the first job only. */
static inline void linux_replace_global_executor(void) { swift_task_enqueueGlobal_hook = linux_enqueue_global; }
