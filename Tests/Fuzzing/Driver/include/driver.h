// SPDX-License-Identifier: Apache-2.0

#ifndef FUZZING_DRIVER_H
#define FUZZING_DRIVER_H

#include <stddef.h>
#include <stdint.h>

// These two are Swift functions (Main.swift).

/// The position of a target with this name; prints all names and returns -1 if there is none.
int fuzzing_find(const char *name);
/// Checks one input of a target; ends the process if a property does not hold.
void fuzzing_check(int target, const uint8_t *bytes, size_t count);

#endif
