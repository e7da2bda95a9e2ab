// SPDX-License-Identifier: Apache-2.0
// What Swift cannot call by itself: macros, and functions it does not import.
#pragma once
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-journal.h>

/* GNU's, which the headers show to those only who define _GNU_SOURCE; Swift's own module of them does not. */
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/* environ(7), which Swift does not let be read as a variable. */
extern char **environ;
static inline char *_Nullable *_Nullable statusd_environment(void) { return environ; }

/* struct ucred needs _GNU_SOURCE, which importers may not have defined. */
struct statusd_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

enum { STATUSD_MAX_DESCRIPTORS = 253 }; /* SCM_MAX_FD: the kernel sends no more in one message */

struct statusd_received {
    struct statusd_credentials credentials; /* pid 0: none came along */
    int32_t descriptors[STATUSD_MAX_DESCRIPTORS];
    uint32_t descriptor_count;
    int32_t flags;
};

/* recvmsg(2) with the CMSG_ macros: the number of bytes, or a negative errno. Every descriptor that came along is in `out`. */
static inline long statusd_receive(int fd, void *buffer, size_t size, struct statusd_received *out) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct statusd_credentials)) + CMSG_SPACE(sizeof(int) * STATUSD_MAX_DESCRIPTORS)];
    } control;
    struct iovec vector = { buffer, size };
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    long count;
    do count = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); while (count < 0 && errno == EINTR);
    out->descriptor_count = 0;
    out->credentials.pid = 0;
    out->flags = message.msg_flags;
    if (count < 0) return -errno;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET) continue;
        if (header->cmsg_type == 0x02 /* SCM_CREDENTIALS */)
            memcpy(&out->credentials, CMSG_DATA(header), sizeof out->credentials);
        if (header->cmsg_type == SCM_RIGHTS) {
            size_t number = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < number && out->descriptor_count < STATUSD_MAX_DESCRIPTORS; i++)
                memcpy(&out->descriptors[out->descriptor_count++], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        }
    }
    return count;
}
