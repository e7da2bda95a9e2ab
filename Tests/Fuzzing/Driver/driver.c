// SPDX-License-Identifier: Apache-2.0

#include "driver.h"

#include <string.h>

int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*check)(const uint8_t *bytes, size_t size));

static int target = -1;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzzing_check(target, bytes, size);
    return 0;
}

/// The main function, to which the package manager gives this name.
///
/// libFuzzer ignores options with two dashes, and gives them to the processes that it starts.
int Fuzzing_main(int count, char **arguments) {
    const char *name = "";
    for (int index = 1; index < count; index++) {
        if (strncmp(arguments[index], "--target=", 9) == 0) name = arguments[index] + 9;
    }
    target = fuzzing_find(name);
    if (target < 0) return 64;
    return LLVMFuzzerRunDriver(&count, &arguments, LLVMFuzzerTestOneInput);
}
