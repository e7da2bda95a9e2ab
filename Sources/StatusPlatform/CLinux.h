// SPDX-License-Identifier: Apache-2.0
// Macros and functions that Swift does not import.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
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
struct mmsghdr {
    struct msghdr msg_hdr;
    unsigned int msg_len;
};
extern int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout);
/* The name of an error number, such as EIO; NULL for an unknown one. */
extern const char *_Nullable strerrorname_np(int number);
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

/* A file in memory, closed on exec: memfd_create(2), which needs _GNU_SOURCE. */
static inline int linux_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1); }

/* prlimit(2), which needs _GNU_SOURCE. */
static inline int linux_set_limit(int32_t process, int32_t resource, uint64_t soft, uint64_t hard) {
    uint64_t limits[] = {soft, hard};
    return (int)syscall(SYS_prlimit64, process, resource, limits, NULL);
}

/* struct ucred needs _GNU_SOURCE, which importers may not have defined. */
struct linux_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

/* The most descriptors that one message can carry: SCM_MAX_FD in the kernel's net/scm.h. */
#define LINUX_MAX_DESCRIPTORS 253

/* The most messages that one call of linux_receive receives. */
#define LINUX_MAX_MESSAGES 16

/* A received message: its length in bytes, and what came with it. */
struct linux_arrival {
    size_t length;
    /* The flags that recvmsg(2) returned, such as MSG_TRUNC. */
    int flags;
    /* The sender, if the socket has SO_PASSCRED; otherwise its uid is UINT32_MAX. */
    struct linux_credentials sender;
    /* The descriptors that came along, which the receiver must close. */
    size_t count;
    int descriptors[LINUX_MAX_DESCRIPTORS];
};

/* Receives up to `count` messages without waiting, with `size` bytes of room for each; returns their number, or -1.
   There is room for all descriptors of a message, because the kernel closes those without room during the call, which
   may block. */
static inline int linux_receive(int fd, void *bytes, size_t size, struct linux_arrival *arrivals, unsigned count) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(LINUX_MAX_DESCRIPTORS * sizeof(int)) + CMSG_SPACE(sizeof(struct linux_credentials))
                  + 1024];
    } controls[LINUX_MAX_MESSAGES];
    struct iovec vectors[LINUX_MAX_MESSAGES];
    struct mmsghdr messages[LINUX_MAX_MESSAGES];
    for (unsigned i = 0; i < count; i++) {
        vectors[i] = (struct iovec){.iov_base = (char *)bytes + i * size, .iov_len = size};
        messages[i].msg_hdr = (struct msghdr){
            .msg_iov = &vectors[i], .msg_iovlen = 1, .msg_control = &controls[i], .msg_controllen = sizeof controls[i]};
    }
    int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC, received;
    if (count == 1) {
        /* Not recvmmsg(2), which reports that a stream's peer is gone before it returns the bytes that came earlier. */
        ssize_t length = recvmsg(fd, &messages[0].msg_hdr, flags);
        messages[0].msg_len = length;
        received = length < 0 ? -1 : 1;
    } else {
        received = recvmmsg(fd, messages, count, flags, NULL);
    }
    for (int i = 0; i < received; i++) {
        struct msghdr *message = &messages[i].msg_hdr;
        struct linux_arrival *arrival = &arrivals[i];
        arrival->length = messages[i].msg_len;
        arrival->flags = message->msg_flags;
        arrival->count = 0;
        arrival->sender = (struct linux_credentials){.pid = 0, .uid = UINT32_MAX, .gid = UINT32_MAX};
        for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
            if (header->cmsg_level != SOL_SOCKET) continue;
            if (header->cmsg_type == SCM_RIGHTS) {
                arrival->count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                memcpy(arrival->descriptors, CMSG_DATA(header), arrival->count * sizeof(int));
            } else if (header->cmsg_type == 2 /* SCM_CREDENTIALS */) {
                memcpy(&arrival->sender, CMSG_DATA(header), sizeof arrival->sender);
            }
        }
    }
    return received;
}

/* Receives a report about a sent datagram that was not delivered (IP_RECVERR in ip(7)), without waiting.

   Returns the number of bytes of that datagram in the report, or -1 if there is none; `number` becomes the errno. */
static inline ssize_t linux_receive_error(int fd, void *bytes, size_t size, int *number) {
    union {
        struct cmsghdr header;
        char room[512];
    } control;
    struct iovec vector = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (length < 0) return -1;
    *number = EIO;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        struct sock_extended_err error;
        bool is_error = (header->cmsg_level == 0 /* IPPROTO_IP */ && header->cmsg_type == 11 /* IP_RECVERR */)
                        || (header->cmsg_level == 41 /* IPPROTO_IPV6 */ && header->cmsg_type == 25 /* IPV6_RECVERR */);
        if (!is_error || header->cmsg_len < CMSG_LEN(sizeof error)) continue;
        memcpy(&error, CMSG_DATA(header), sizeof error);
        *number = (int)error.ee_errno;
    }
    return length;
}

/* An UnownedSerialExecutor. */
struct linux_executor {
    void *identity;
    void *implementation;
};

/* The hooks of Swift's concurrency runtime (swift/Runtime/Concurrency.h) for programs with an event loop of their own.
   They have Swift's calling convention, so they cannot be written in Swift. */
extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *job, void *original);
extern __attribute__((swiftcall)) struct linux_executor (*swift_task_getMainExecutor_hook)(void *original);

/* Runs a job of Swift's concurrency runtime as soon as possible; EventLoopIO defines it. */
extern void statusd_enqueue(void *job);

/* Returns the executor for the main actor; EventLoopIO defines it. */
extern struct linux_executor statusd_main_executor(void);

static inline __attribute__((swiftcall)) void linux_enqueue_global(void *job, void *original) {
    (void)original;
    statusd_enqueue(job);
}

static inline __attribute__((swiftcall)) struct linux_executor linux_main_executor(void *original) {
    (void)original;
    return statusd_main_executor();
}

/* Has those functions called with each job of the global executor, and for the main one; before the first job only. */
static inline void linux_replace_executors(void) {
    swift_task_enqueueGlobal_hook = linux_enqueue_global;
    swift_task_getMainExecutor_hook = linux_main_executor;
}
