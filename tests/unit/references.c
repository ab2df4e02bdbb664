#include "tests/unit/program.h"

#include "lib/base/mem.h"

/*
 * A step releases all its references to buffers. In this program, a variable's value shares memory with values of a branch,
 * and the last reader of that memory is a row, which the interpreter runs inline.
 */
static const char text[] =
	"input x0: i32[] = -3\n"
	"input x1: i32[] = 14\n"
	"state s0: i32[] = -3\n"
	"state s1: i32[] = -3\n"
	"target go {\n"
	"  v29 = if x1 % 4 >= 3 {\n"
	"    v30, v31 = if x1 % 4 < 1 {\n"
	"      v32, v33, v36, v37 = loop (v32 = s1, v33 = x0) for v34 in 0..0 % 5 {\n"
	"        AssignAddVariableOp(s1, s0)\n"
	"        loop for v35 in 2..((-3)) % 5 {\n"
	"          set s0 = (v33 + ((v33 + s1) % 997)) % 997\n"
	"        }\n"
	"        yield x0\n"
	"        yield s0\n"
	"        next s0, x0\n"
	"      }\n"
	"      x0 % 997, s0\n"
	"    } else {\n"
	"      x1, x0\n"
	"    }\n"
	"    if x0 % 4 == 0 {\n"
	"    } else {\n"
	"      set s0 = x0\n"
	"    }\n"
	"    s1\n"
	"  } else {\n"
	"    v39, v40, v51 = loop (v39 = 9, v40 = s1) for v41 in 0..x0 % 5 {\n"
	"      v50 = loop for v44 in 0..0 {\n"
	"        v45, v48, v49 = loop (v45 = x0) for v46 in 0..1 {\n"
	"          yield x0\n"
	"          yield x0\n"
	"          next v39\n"
	"        }\n"
	"      }\n"
	"      yield s0\n"
	"      next x0, x1\n"
	"    }\n"
	"    if x1 % 4 == 2 {\n"
	"    } else {\n"
	"      v59, v60 = loop for v53 in v51 {\n"
	"        v54 = case x1 % 4 {\n"
	"        0: {\n"
	"          v39\n"
	"        }\n"
	"        else: {\n"
	"          x0\n"
	"        }\n"
	"        }\n"
	"        v55, v57, v58 = loop (v55 = s0) for v56 in v51 {\n"
	"          yield x0\n"
	"          yield v54\n"
	"          next x0\n"
	"        }\n"
	"        yield x0\n"
	"        yield v39\n"
	"      }\n"
	"      set s0 = x0\n"
	"    }\n"
	"    x0\n"
	"  }\n"
	"  v1, v2, v5 = loop (v1 = (x1 - s0) % 997, v2 = x0) for v3 in 2..x0 % 5, v4 in 0.. while v4 < 2 {\n"
	"    yield maximum(x0, (-6 - v2) % 997)\n"
	"    next v1, x0\n"
	"  }\n"
	"  if ((0 + x1)) % 4 == 2 {\n"
	"    if 4 % 4 >= 0 {\n"
	"      set s0 = x0\n"
	"    } else {\n"
	"      v6 = case x0 % 4 {\n"
	"      else: {\n"
	"      }\n"
	"      }\n"
	"    }\n"
	"    set s1 = (x0 * (maximum(x0, sum(v5) % 997))) % 997\n"
	"  } else {\n"
	"    loop for v18 in 0..0, v19 in 0.. while v19 < 2 {\n"
	"      v21 = if x0 % 4 >= 3 {\n"
	"        x0\n"
	"      } else {\n"
	"        s0\n"
	"      }\n"
	"    }\n"
	"  }\n"
	"}\n";

static void run_target(struct program *program, uint32_t node)
{
	struct dfg_plan *plan;
	succeeds(dfg_session_plan(program->session, &(struct dfg_step){.target = &node, .n_target = 1}, &plan));
	succeeds(dfg_plan_run(plan, NULL, NULL));
}

static void run_all(const struct dfg_session_options *options)
{
	struct program program;
	succeeds(program_begin(&program, text, options));
	for (uint32_t n = 0; n < program.graph.count; n++)
		if (dfg_node_mark(&program.graph.node[n], "_dfg_init", NULL))
			run_target(&program, n);
	for (int step = 0; step < 3; step++)
		run_target(&program, dfg_graph_find(&program.graph, "go"));
	program_end(&program);
}

static void a_step_keeps_no_reference(void **state)
{
	(void)state;
	struct dfg_allocator *heap = dfg_mem;
	run_all(&(struct dfg_session_options){.threads = 1}); /* memory that the process keeps is taken here */
	for (int variant = 0; variant < PROGRAM_VARIANTS; variant++) {
		struct dfg_session_options options = program_variant(variant);
		struct dfg_mem_limit limit;
		dfg_mem_limit_init(&limit, heap, SIZE_MAX / 2);
		dfg_mem = &limit.base;
		run_all(&options);
		dfg_mem = heap;
		assert_int_equal(atomic_load(&limit.used), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_keeps_no_reference)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
