// SPDX-License-Identifier: Apache-2.0
#pragma once

/* Runs a job of Swift's concurrency runtime as soon as possible. */
typedef void (*statusd_enqueue)(void *_Nonnull job);

/* Has a function called with each job of Swift's global executor; before the first job only. */
void statusd_set_global_executor(statusd_enqueue _Nonnull enqueue);
