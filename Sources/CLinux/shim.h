// SPDX-License-Identifier: Apache-2.0
// What Swift cannot call by itself: macros, and functions it does not import.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
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

/* GNU's, which the headers show to those only who define _GNU_SOURCE; Swift's own module of them does not. */
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
/* The columns of a character on a terminal (wcwidth(3)); -1 if the table of the locale does not have it. */
extern int wcwidth(wchar_t character);

/* environ(7), which Swift does not let be read as a variable. */
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

/* When a file was created (statx(2), which the headers show to GNU's only), in nanoseconds since 1970; 0 if its file system does not know. */
static inline int64_t linux_birth(const char *path) {
    struct statx status;
    if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return 0;
    if (!(status.stx_mask & STATX_BTIME)) return 0;
    return status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16, asm-generic/socket.h; older kernels answer ENOPROTOOPT */
#endif

static inline int linux_refuse_descriptors(int fd) {
    int off = 0;
    return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
}

static inline bool linux_refuses_descriptors(int fd) {
    int value = 1;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, &length) == 0 && value == 0;
}

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5, asm-generic/socket.h */
#endif

/* Has the kernel add nothing to what a Unix socket receives: no credentials, label or descriptor of the sending process. An accepted
   socket has these settings from its listener, which a socket unit configures. */
static inline void linux_refuse_additions(int fd) {
    int off = 0;
    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_PASSSEC, &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_PASSPIDFD, &off, sizeof off);
}

/* struct ucred needs _GNU_SOURCE, which importers may not have defined. */
struct linux_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

/* Has the kernel say who sent each datagram to a socket. */
static inline int linux_pass_credentials(int fd) {
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

/* Looks at the first datagram of such a socket, without receiving it or waiting: what recvmsg(2) returns, with its flags and errno, and
   who sent it. There is room for the credentials, which come first, and for no descriptor: if any came along, MSG_CTRUNC is set. */
static inline ssize_t linux_peek_datagram(int fd, void *bytes, size_t size, int *flags, struct linux_credentials *sender) {
    union {
        struct cmsghdr header;
        char room[CMSG_LEN(sizeof *sender)];
    } control;
    struct iovec vector = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof *sender)};
    ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT | MSG_PEEK);
    struct cmsghdr *header = count < 0 ? NULL : CMSG_FIRSTHDR(&message);
    *flags = message.msg_flags;
    /* The kernel's word for “nobody” where it does not know. */
    *sender = (struct linux_credentials){.pid = 0, .uid = UINT32_MAX, .gid = UINT32_MAX};
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == 2 /* SCM_CREDENTIALS */ &&
        header->cmsg_len == CMSG_LEN(sizeof *sender)) memcpy(sender, CMSG_DATA(header), sizeof *sender);
    return count;
}

/* The most descriptors that one message can carry: SCM_MAX_FD in the kernel's net/scm.h. */
#define LINUX_MAX_DESCRIPTORS 253

union linux_descriptors {
    struct cmsghdr header;
    char room[CMSG_SPACE(LINUX_MAX_DESCRIPTORS * sizeof(int))];
};

/* Sends bytes of a stream with descriptors, without waiting: what sendmsg(2) returns. */
static inline ssize_t linux_send_descriptors(
    int fd, const void *bytes, size_t size, const int *descriptors, size_t count) {
    union linux_descriptors control = {0};
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (count > LINUX_MAX_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Looks at the next bytes of a stream, without receiving them or waiting: what recvmsg(2) returns. If descriptors come with them, the
   last of these bytes are those that they were sent with. */
static inline ssize_t linux_peek_stream(int fd, void *bytes, size_t size, bool *has_descriptors) {
    struct iovec vector = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT | MSG_PEEK);
    *has_descriptors = count > 0 && message.msg_flags & MSG_CTRUNC;
    return count;
}

/* Receives bytes of a stream and up to LINUX_MAX_DESCRIPTORS descriptors, without waiting: what recvmsg(2) returns. The process may
   have no room for all descriptors; then some of them are lost. */
static inline ssize_t linux_receive_descriptors(
    int fd, void *bytes, size_t size, int *descriptors, size_t *count, bool *are_lost) {
    union linux_descriptors control;
    struct iovec vector = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = received < 0 ? NULL : CMSG_FIRSTHDR(&message);
    *count = 0;
    *are_lost = received >= 0 && message.msg_flags & MSG_CTRUNC;
    for (; header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        *count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(descriptors, CMSG_DATA(header), *count * sizeof(int));
    }
    return received;
}
