// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

// sqlite3_db_config(3) is variadic, which Swift cannot call.
static inline int statusd_sqlite3_db_config(sqlite3 *database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}

// SQLITE_TRANSIENT casts a number to a function, which Swift does not import.
static inline int statusd_sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
    return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}
