// SPDX-License-Identifier: Apache-2.0
// What Swift cannot call by itself: macros, and functions it does not import.
#pragma once
#include <errno.h>
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
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-journal.h>

/* GNU's, which the headers show to those only who define _GNU_SOURCE; Swift's own module of them does not. */
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/* environ(7), which Swift does not let be read as a variable. */
extern char **environ;
static inline char *_Nullable *_Nullable statusd_environment(void) { return environ; }

/* prctl(2), which takes a variable number of arguments. */
static inline int statusd_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
static inline int statusd_refuse_tracers(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* pidfd_open(2) and pidfd_send_signal(2), for which Debian 12 has no functions. */
static inline int statusd_open_process(int32_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }
static inline int statusd_signal_process(int descriptor, int number) {
    return (int)syscall(SYS_pidfd_send_signal, descriptor, number, NULL, 0);
}

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16, asm-generic/socket.h; older kernels answer ENOPROTOOPT */
#endif

static inline int statusd_refuse_descriptors(int fd) {
    int off = 0;
    return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
}

static inline bool statusd_refuses_descriptors(int fd) {
    int value = 1;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, &length) == 0 && value == 0;
}

/* struct ucred needs _GNU_SOURCE, which importers may not have defined. */
struct statusd_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

enum { STATUSD_MAX_DESCRIPTORS = 253 }; /* SCM_MAX_FD: the kernel sends no more in one message */

/* A datagram that was received, beside its bytes. */
struct statusd_received {
    size_t length;
    int32_t descriptors[STATUSD_MAX_DESCRIPTORS];
    uint32_t descriptor_count;
    int32_t flags;
};

enum { STATUSD_BATCH = 16 };

/* recvmmsg(2) and its structure, which the headers show to those only who define _GNU_SOURCE. */
struct statusd_mmsghdr {
    struct msghdr header;
    unsigned int length;
};
extern int recvmmsg(int fd, struct statusd_mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout);

/* Room for a batch of datagrams and what comes along with each. */
struct statusd_batch {
    struct statusd_mmsghdr messages[STATUSD_BATCH];
    struct iovec vectors[STATUSD_BATCH];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * STATUSD_MAX_DESCRIPTORS)];
    } control[STATUSD_BATCH];
};

/* Prepares a batch whose datagrams go into `buffer`, `size` bytes each. */
static inline void statusd_batch_prepare(struct statusd_batch *batch, void *buffer, size_t size) {
    memset(batch, 0, sizeof *batch);
    for (int i = 0; i < STATUSD_BATCH; i++) {
        batch->vectors[i] = (struct iovec){ (char *)buffer + i * size, size };
        batch->messages[i].header.msg_iov = &batch->vectors[i];
        batch->messages[i].header.msg_iovlen = 1;
        batch->messages[i].header.msg_control = &batch->control[i];
    }
}

/* Receives what is there, at most `most` datagrams, without waiting: their number, or a negative errno. */
static inline int statusd_batch_receive(int fd, struct statusd_batch *batch, int most) {
    int count;
    for (int i = 0; i < most; i++)
        batch->messages[i].header.msg_controllen = sizeof batch->control[i];
    do count = recvmmsg(fd, batch->messages, most, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

/* Takes a datagram out of a batch: its length, and every descriptor that came along. */
static inline void statusd_batch_take(struct statusd_batch *batch, int i, struct statusd_received *out) {
    struct msghdr *message = &batch->messages[i].header;
    out->length = batch->messages[i].length;
    out->flags = message->msg_flags;
    out->descriptor_count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t number = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t k = 0; k < number && out->descriptor_count < STATUSD_MAX_DESCRIPTORS; k++)
            memcpy(&out->descriptors[out->descriptor_count++], CMSG_DATA(header) + k * sizeof(int), sizeof(int));
    }
}
