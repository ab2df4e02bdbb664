#pragma once

#include <stdbool.h>

/* Whether two paths name one file, by device and inode; if it does not exist, by its folder's and its name. */
bool dfg_same_file(const char *a, const char *b);

/* Whether the path names a directory, if need be through symbolic links. */
bool dfg_is_directory(const char *path);
