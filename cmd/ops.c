#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "formats/json.h"
#include "lib/base/mem.h"
#include "lib/graph/op.h"
#include "lib/pass/verify/missing_ops.h"

#include <string.h>
#include <strings.h>

static const char *missing_of;

static const struct dfg_opt options[] = {
	{"missing", .takes = "G", .text = &missing_of, .help = "List the ops that a graph requires and dfg does not have."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{0},
};

static const char *gradient_of(const struct dfg_op *op)
{
	if (op->gradient)
		return op->gradient;
	return op->gradient_fn ? "in C" : "none";
}

/* Appends the dtypes that have a kernel, in order of their numbers: "f32 f64 i32". */
static struct dfg_err *add_dtypes(const struct dfg_op *op, struct dfg_text *text)
{
	const struct dfg_signature *signature;
	DFG_TRY(dfg_op_signature(op, &signature));
	uint64_t types = signature->n_param ? signature->param[0].types : 0;
	for (int dtype = 1; dtype < DFG_DTYPES; dtype++)
		if (types >> dtype & 1 && dfg_op_computes(op, (enum dfg_dtype)dtype))
			dfg_text_add(text, "%s%s", text->length ? " " : "", dfg_dtype_name((enum dfg_dtype)dtype));
	return dfg_text_check(text);
}

static void print_line(const struct dfg_op *op)
{
	printf("%s%s", op->name, op->sig);
	for (int i = 0; i < DFG_ATTR_MAX && op->attr[i]; i++)
		printf("%s%s", i ? ", " : " {", op->attr[i]);
	printf("%s  %s\n", op->attr[0] ? "}" : "", op->doc);
}

static struct dfg_err *print_whole(const struct dfg_op *op)
{
	struct dfg_text dtypes = {0};
	struct dfg_err *err = add_dtypes(op, &dtypes);
	if (err) {
		dfg_text_release(&dtypes);
		return err;
	}
	printf("%s%s\n    %s\n", op->name, op->sig, op->doc);
	for (int i = 0; i < DFG_ATTR_MAX && op->attr[i]; i++)
		printf("    attribute %s\n", op->attr[i]);
	if (dtypes.length)
		printf("    kernels for %s\n", dtypes.s);
	printf("    gradient: %s\n", gradient_of(op));
	dfg_text_release(&dtypes);
	return NULL;
}

static struct dfg_err *put_json(struct dfg_json_out *out, const struct dfg_op *op)
{
	struct dfg_text dtypes = {0};
	struct dfg_err *err = add_dtypes(op, &dtypes);
	dfg_json_open(out, '{');
	dfg_json_key(out, "name"), dfg_json_string(out, op->name);
	dfg_json_key(out, "signature"), dfg_json_string(out, op->sig);
	dfg_json_key(out, "attributes"), dfg_json_open(out, '[');
	for (int i = 0; i < DFG_ATTR_MAX && op->attr[i]; i++)
		dfg_json_string(out, op->attr[i]);
	dfg_json_close(out, ']');
	dfg_json_key(out, "doc"), dfg_json_string(out, op->doc);
	dfg_json_key(out, "dtypes"), dfg_json_string(out, dtypes.s ? dtypes.s : "");
	dfg_json_key(out, "gradient"), dfg_json_string(out, gradient_of(op));
	dfg_json_close(out, '}');
	dfg_text_release(&dtypes);
	return err;
}

static struct dfg_err *print_json(const struct dfg_op *const *op, size_t count)
{
	struct dfg_json_out out = {0};
	dfg_json_open(&out, '[');
	struct dfg_err *err = NULL;
	for (size_t n = 0; n < count && !err; n++)
		err = put_json(&out, op[n]);
	dfg_json_close(&out, ']');
	if (!err)
		err = dfg_text_check(&out.text);
	if (!err)
		puts(out.text.s);
	dfg_text_release(&out.text);
	return err;
}

static bool contains(const char *name, const char *part)
{
	for (size_t length = strlen(part); *name; name++)
		if (!strncasecmp(name, part, length))
			return true;
	return false;
}

static struct dfg_err *print_all(const struct dfg_op *const *op, size_t count)
{
	if (dfg_globals.json)
		return print_json(op, count);
	for (size_t i = 0; i < count; i++)
		print_line(op[i]);
	return NULL;
}

/* Prints the ops whose names contain the word, ignoring case; the missing op itself is the negative answer. */
static struct dfg_err *search(const char *word)
{
	const char *nearest = dfg_op_nearest(word);
	const struct dfg_op **found = dfg_zeros(dfg_ops_count, sizeof *found);
	size_t count = 0;
	if (!found)
		return dfg_no_memory("the list of ops");
	for (size_t i = 0; i < dfg_ops_count && *word; i++)
		if (contains(dfg_ops[i]->name, word))
			found[count++] = dfg_ops[i];
	struct dfg_err *err = count || dfg_globals.json ? print_all(found, count) : NULL;
	dfg_free(found);
	if (err)
		return err;
	return DFG_ERR(DFG_NEGATIVE, "no op '%s'%s%s%s%s", word, nearest ? "; did you mean '" : "", nearest ? nearest : "",
		nearest ? "'?" : "",
		!count    ? ""
		: nearest ? " These ops contain the word"
				  : "; these ops contain the word");
}

static struct dfg_err *print_missing(const struct dfg_missing_op *missing, size_t count)
{
	struct dfg_json_out json = {0};
	struct dfg_text text = {0};
	dfg_json_open(&json, '[');
	for (size_t i = 0; i < count; i++) {
		dfg_text_add(&text, "%s %llu\n", missing[i].name, (unsigned long long)missing[i].nodes);
		dfg_json_open(&json, '{');
		dfg_json_key(&json, "name"), dfg_json_string(&json, missing[i].name);
		dfg_json_key(&json, "nodes"), dfg_json_int(&json, (int64_t)missing[i].nodes);
		dfg_json_close(&json, '}');
	}
	dfg_json_close(&json, ']');
	dfg_text_add(&json.text, "\n");
	const struct dfg_text *out = dfg_globals.json ? &json.text : &text;
	struct dfg_err *err = dfg_text_check(out);
	if (!err && out->length)
		dfg_print(out);
	dfg_text_release(&json.text);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *list_missing(int *out_status)
{
	struct dfg_graph_file file = {0};
	struct dfg_arena arena = {0};
	struct dfg_missing_op *missing;
	size_t count = 0;
	DFG_TRY(dfg_cmd_open_graph(missing_of, &file));
	struct dfg_err *err = dfg_err_note(dfg_missing_ops(&file.graph, &arena, &missing, &count), "%s", missing_of);
	if (!err)
		err = print_missing(missing, count);
	*out_status = count ? 1 : 0;
	dfg_arena_release(&arena);
	dfg_graph_close(&file);
	return err;
}

static struct dfg_err *ops(char **operands, int *out_status)
{
	if (missing_of && *operands)
		return DFG_ERR(DFG_USAGE, "--missing takes no OP to explain: leave out '%s'", *operands);
	if (missing_of)
		return list_missing(out_status);
	const struct dfg_op *one = *operands ? dfg_op_find(*operands) : NULL;
	if (*operands && !one)
		return search(*operands);
	if (one && !dfg_globals.json)
		return print_whole(one);
	return print_all(one ? &one : dfg_ops, one ? 1 : dfg_ops_count);
}

const struct dfg_cmd dfg_cmd_ops = {
	.name = "ops",
	.operands = "[NAME]",
	.summary = "list the operations, or explain one",
	.options = options,
	.most = 1,
	.run = ops,
};
