#include "lib/graph/work.h"

_Thread_local double dfg_work;
