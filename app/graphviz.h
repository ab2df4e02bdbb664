#pragma once

#include "lib/base/err.h"
#include "lib/base/text.h"

/*
 * Draws a text for dot(1), which it releases, as SVG. Passes on the error of making it. DFG_CONFIG: Graphviz is absent, and
 * the message names the package. One call at a time.
 */
DFG_MUST_CHECK struct dfg_err *dfg_graphviz_svg(struct dfg_err *err, struct dfg_text *dot, struct dfg_text *out);
