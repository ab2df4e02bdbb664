#include "cmd/show.h"

#include "lib/base/plural.h"
#include "lib/graph/function.h"

/* "a: f32, b: N * T": the types as declared, without a call. */
static void list_ports(const struct dfg_function_port *port, uint32_t count, struct dfg_text *out)
{
	for (uint32_t i = 0; i < count; i++) {
		dfg_text_add(out, "%s%s: ", i ? ", " : "", port[i].name);
		if (port[i].number)
			dfg_text_add(out, "%s * ", port[i].number);
		if (port[i].types)
			dfg_text_add(out, "[%s]", port[i].types);
		else
			dfg_text_add(out, "%s", port[i].type ? port[i].type : dfg_dtype_name(port[i].dtype));
	}
}

/* A function that cannot be opened is listed with the reason. */
static struct dfg_err *list_function(const struct dfg_functions *functions, uint32_t number,
	const struct dfg_function_codec *codec, struct dfg_text *out)
{
	struct dfg_arena arena = {0};
	struct dfg_function function;
	struct dfg_err *err = codec->open(functions, number, &arena, &function);
	dfg_text_add(out, "  ");
	dfg_text_escape(out, functions->names.name[number].s, functions->names.name[number].length, 200);
	dfg_text_add(out, "(");
	if (!err) {
		list_ports(function.in, function.n_in, out);
		dfg_text_add(out, ") -> (");
		list_ports(function.out, function.n_out, out);
		dfg_text_add(out, "), %u node%s\n", function.n_node, dfg_plural(function.n_node));
	} else {
		dfg_text_add(out, "?): %s\n", err->text);
	}
	dfg_arena_release(&arena);
	if (err && err->code == DFG_MEMORY)
		return err;
	dfg_err_free(err);
	return NULL;
}

struct dfg_err *dfg_show_functions(const struct dfg_shown *shown, struct dfg_text *out)
{
	struct dfg_functions functions;
	struct dfg_arena arena = {0};
	struct dfg_err *err = dfg_functions_list(shown->graph, &arena, &functions);
	for (uint32_t i = 0; i < functions.names.count && !err; i++) {
		dfg_text_add(out, "%s", i ? "" : "functions\n");
		err = list_function(&functions, i, shown->graph->codec, out);
	}
	dfg_functions_release(&functions);
	dfg_arena_release(&arena);
	return err;
}
