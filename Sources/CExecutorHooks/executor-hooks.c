// SPDX-License-Identifier: Apache-2.0
// The hook of Swift's concurrency runtime (swift/Runtime/Concurrency.h) for programs with an event loop of their own. It has
// Swift's calling convention, so it cannot be written in Swift.

#include "executor-hooks.h"

extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *job, void *original);

static statusd_enqueue enqueue_job;

static __attribute__((swiftcall)) void enqueue_global(void *job, void *original) {
    (void)original;
    enqueue_job(job);
}

void statusd_set_global_executor(statusd_enqueue enqueue) {
    enqueue_job = enqueue;
    swift_task_enqueueGlobal_hook = enqueue_global;
}
