// SPDX-License-Identifier: Apache-2.0
// The hooks of Swift's concurrency runtime (swift/Runtime/Concurrency.h) for programs with an event loop of their own. They have
// Swift's calling convention, so they cannot be written in Swift.

#define _GNU_SOURCE
#include "executor-hooks.h"
#include <time.h>

#define SWIFT __attribute__((swiftcall))

extern SWIFT void (*swift_task_enqueueGlobal_hook)(void *job, void *original);
extern SWIFT void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long nanoseconds, void *job, void *original);
extern SWIFT void (*swift_task_enqueueGlobalWithDeadline_hook)(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock,
    void *job, void *original);

static statusd_enqueue enqueue_job;
static statusd_enqueue_at enqueue_job_at;

static SWIFT void enqueue_global(void *job, void *original) {
    (void)original;
    enqueue_job(job);
}

static SWIFT void enqueue_global_with_deadline(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock,
    void *job, void *original) {
    (void)tolerance_seconds, (void)tolerance_nanoseconds, (void)original;
    enqueue_job_at(job, seconds, nanoseconds, clock);
}

static SWIFT void enqueue_global_with_delay(unsigned long long delay, void *job, void *original) {
    struct timespec now;
    (void)original;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long nanoseconds = (unsigned long long)now.tv_nsec + delay % 1000000000;
    enqueue_job_at(
        job, now.tv_sec + (int64_t)(delay / 1000000000 + nanoseconds / 1000000000), (int64_t)(nanoseconds % 1000000000),
        STATUSD_SUSPENDING_CLOCK);
}

void statusd_set_global_executor(statusd_enqueue enqueue, statusd_enqueue_at enqueue_at) {
    enqueue_job = enqueue;
    enqueue_job_at = enqueue_at;
    swift_task_enqueueGlobal_hook = enqueue_global;
    swift_task_enqueueGlobalWithDelay_hook = enqueue_global_with_delay;
    swift_task_enqueueGlobalWithDeadline_hook = enqueue_global_with_deadline;
}
