#include "lib/lang/eval.h"

/* What only a whole program declares. */
static struct dfg_err *only_in_programs(const char *what)
{
	return DFG_ERR(DFG_DATA, "`%s` stands only in a program, outside of functions", what);
}

struct dfg_err *dfg_eval_input(struct dfg_eval *eval, struct dfg_frame *frame, const struct dfg_tree *tree)
{
	(void)eval, (void)frame, (void)tree;
	return only_in_programs("input");
}
struct dfg_err *dfg_eval_output(struct dfg_eval *eval, struct dfg_frame *frame, const struct dfg_tree *tree)
{
	(void)eval, (void)frame, (void)tree;
	return only_in_programs("output");
}
struct dfg_err *dfg_eval_target(struct dfg_eval *eval, struct dfg_frame *frame, const struct dfg_tree *tree)
{
	(void)eval, (void)frame, (void)tree;
	return only_in_programs("target");
}
struct dfg_err *dfg_eval_import(struct dfg_eval *eval, struct dfg_frame *frame, const struct dfg_tree *tree)
{
	(void)eval, (void)frame, (void)tree;
	return only_in_programs("import");
}
struct dfg_err *dfg_eval_const_declaration(struct dfg_eval *eval, struct dfg_frame *frame, const struct dfg_tree *tree)
{
	struct dfg_datum value;
	DFG_TRY(dfg_eval_expr(eval, frame, tree->kid[0], &value));
	return dfg_frame_put(eval->arena, frame, tree->text, value);
}
