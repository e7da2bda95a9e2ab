// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdint.h>

/* Swift's clocks, by the numbers that the runtime gives them. */
enum { STATUSD_CONTINUOUS_CLOCK = 1, STATUSD_SUSPENDING_CLOCK = 2 };

/* Runs a job as soon as possible. */
typedef void (*statusd_enqueue)(void *_Nonnull job);
/* Runs a job at a time of one of Swift's clocks. */
typedef void (*statusd_enqueue_at)(void *_Nonnull job, int64_t seconds, int64_t nanoseconds, int32_t clock);

/* Has these functions called with each job of Swift's global executor; before the first job only. */
void statusd_set_global_executor(statusd_enqueue _Nonnull enqueue, statusd_enqueue_at _Nonnull enqueue_at);
