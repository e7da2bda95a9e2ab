// SPDX-License-Identifier: Apache-2.0
// Tells the thread sanitizer that a Mutex orders threads that wait for each other; this file is empty without that sanitizer.
//
// The sanitizer sees only code that was compiled with it. Calls of `Mutex.withLock` are compiled into their callers, except for two
// functions of Swift's library: one that waits for a lock, and one that passes it to a waiting thread. Because of these, the sanitizer
// would report accesses under the lock as races. The functions below are called instead, because the names in an executable take
// precedence over those in a library. They call the library's functions and tell the sanitizer about it.
//
// If another version of Swift has other functions, the wrong reports return. `withLockIfAvailable` has a third one, which is missing here
// because nothing uses it.

#if defined(__linux__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdint.h>

// Synchronization._MutexHandle._lockSlow(_: UInt32) and _unlockSlow()
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

SWIFT void lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock(SELF) __asm__(UNLOCK);

SWIFT void lock(uint32_t thread, SELF) {
    SWIFT void (*lock_in_library)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK);
    lock_in_library(thread, self);
    __tsan_acquire(self);
}

SWIFT void unlock(SELF) {
    SWIFT void (*unlock_in_library)(SELF) = dlsym(RTLD_NEXT, UNLOCK);
    __tsan_release(self);
    unlock_in_library(self);
}

#endif
#endif
