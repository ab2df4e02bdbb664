#pragma once

/* Every unit test includes this: cmocka with the headers that it needs, and checks for errors as values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>
#include <string.h>

#include "lib/base/err.h"

/* The call succeeds; a failure prints its error. */
#define succeeds(call)                           \
	do {                                         \
		struct dfg_err *e_ = call;               \
		if (e_)                                  \
			fail_msg("%s: %s", #call, e_->text); \
	} while (0)

/* The call fails with this code, and its message holds these words. */
#define fails(call, code_, words)                                                     \
	do {                                                                              \
		struct dfg_err *e_ = call;                                                    \
		if (!e_)                                                                      \
			fail_msg("%s succeeded", #call);                                          \
		if (e_->code != (code_) || !strstr(e_->text, words))                          \
			fail_msg("%s: %d '%s', not '%s'", #call, (int)e_->code, e_->text, words); \
		dfg_err_free(e_);                                                             \
	} while (0)
