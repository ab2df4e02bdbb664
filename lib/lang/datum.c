#include "lib/lang/datum_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/variable_private.h"

bool dfg_datum_is_tensor(const struct dfg_datum *datum)
{
	return datum->kind == DFG_DATUM_TENSOR || datum->kind == DFG_DATUM_CELL || datum->kind == DFG_DATUM_DIM ||
		   datum->kind == DFG_DATUM_LITERAL;
}

bool dfg_datum_is_known(const struct dfg_datum *datum)
{
	if (datum->kind != DFG_DATUM_LIST)
		return datum->kind == DFG_DATUM_NUMBER || datum->kind == DFG_DATUM_BOOL || datum->kind == DFG_DATUM_STRING;
	for (uint32_t i = 0; i < datum->list.n; i++)
		if (!dfg_datum_is_known(&datum->list.item[i]))
			return false;
	return true;
}

enum dfg_dtype dfg_datum_dtype(struct dfg_eval *eval, const struct dfg_datum *datum)
{
	switch (datum->kind) {
	case DFG_DATUM_TENSOR:
		return dfg_eval_fact(eval, datum->edge)->dtype;
	case DFG_DATUM_LITERAL:
		return datum->literal->dtype;
	case DFG_DATUM_CELL:
		return datum->cell->dtype;
	case DFG_DATUM_DIM:
		return DFG_I32;
	case DFG_DATUM_LIST:
		for (uint32_t i = 0; i < datum->list.n; i++) {
			enum dfg_dtype dtype = dfg_datum_dtype(eval, &datum->list.item[i]);
			if (dtype)
				return dtype;
		}
		return DFG_NO_DTYPE;
	default:
		return DFG_NO_DTYPE;
	}
}

static enum dfg_dtype wider(enum dfg_dtype a, enum dfg_dtype b)
{
	static const enum dfg_dtype order[] = {DFG_F32, DFG_I64, DFG_I32, DFG_BOOL, DFG_STRING};
	for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return DFG_NO_DTYPE;
}

enum dfg_dtype dfg_datum_natural(const struct dfg_datum *datum)
{
	enum dfg_dtype dtype = DFG_NO_DTYPE;
	switch (datum->kind) {
	case DFG_DATUM_NUMBER:
		return !datum->number.is_int ? DFG_F32 : datum->number.i == (int32_t)datum->number.i ? DFG_I32 : DFG_I64;
	case DFG_DATUM_BOOL:
		return DFG_BOOL;
	case DFG_DATUM_STRING:
		return DFG_STRING;
	case DFG_DATUM_LIST:
		for (uint32_t i = 0; i < datum->list.n; i++)
			dtype = wider(dtype, dfg_datum_natural(&datum->list.item[i]));
		return dtype ? dtype : DFG_F32;
	default:
		return DFG_NO_DTYPE;
	}
}

static const char *tensor_words(struct dfg_eval *eval, struct dfg_edge edge)
{
	const struct dfg_inferred *fact = dfg_eval_fact(eval, edge);
	return dfg_arena_print(eval->arena, "%s", dfg_type_words(fact->dtype, &fact->shape).s);
}

const char *dfg_datum_words(struct dfg_eval *eval, const struct dfg_datum *datum)
{
	static const char *const words[] = {
		[DFG_DATUM_NONE] = "nothing",
		[DFG_DATUM_BOOL] = "a bool",
		[DFG_DATUM_STRING] = "a string",
		[DFG_DATUM_DTYPE] = "a dtype",
		[DFG_DATUM_LIST] = "a list",
		[DFG_DATUM_DIM] = "a dimension that is not known yet",
		[DFG_DATUM_TUPLE] = "several results",
		[DFG_DATUM_FN] = "a function",
		[DFG_DATUM_LAYER] = "a layer without its first arguments",
		[DFG_DATUM_INSTANCE] = "an instance of a layer",
		[DFG_DATUM_OP] = "an op",
		[DFG_DATUM_BUILTIN] = "a function",
		[DFG_DATUM_MODULE] = "an import",
		[DFG_DATUM_GRAPH] = "an imported graph",
		[DFG_DATUM_GRAPH_NODE] = "a function",
		[DFG_DATUM_LATER] = "a name that is not evaluated yet",
		[DFG_DATUM_NOTHING] = "a tensor that does not exist",
	};
	const char *made = words[datum->kind];
	if (datum->kind == DFG_DATUM_NUMBER)
		made = datum->number.is_int ? dfg_arena_print(eval->arena, "%lld", (long long)datum->number.i)
									: dfg_arena_print(eval->arena, "%.9g", datum->number.f);
	else if (datum->kind == DFG_DATUM_TENSOR)
		made = tensor_words(eval, datum->edge);
	else if (datum->kind == DFG_DATUM_CELL)
		made = dfg_arena_print(eval->arena, "%s", dfg_type_words(datum->cell->dtype, &datum->cell->shape).s);
	else if (datum->kind == DFG_DATUM_LITERAL)
		made = dfg_arena_print(eval->arena, "%s", dfg_type_words(datum->literal->dtype, &datum->literal->shape).s);
	return made ? made : "something";
}

struct dfg_err *dfg_list_grow(struct dfg_datum_list *list, uint32_t depth, uint64_t leaves)
{
	if (depth > DFG_NEST_MAX)
		return DFG_ERR(DFG_DATA, "lists nest deeper than %d", DFG_NEST_MAX);
	if (leaves > DFG_LEAVES_MAX)
		return DFG_ERR(DFG_DATA, "a list has more than %d items, those of nested lists included", DFG_LEAVES_MAX);
	list->depth = depth;
	list->leaves = (uint32_t)leaves;
	return NULL;
}

struct dfg_err *dfg_list_from(struct dfg_eval *eval, const struct dfg_list_origin *origin, struct dfg_datum *datum)
{
	datum->list.origin = (struct dfg_list_origin *)dfg_arena_copy(eval->arena, origin, sizeof *origin);
	return datum->list.origin ? NULL : dfg_no_memory("a list");
}

struct dfg_err *dfg_list_new(struct dfg_eval *eval, enum dfg_datum_kind kind, uint32_t n, struct dfg_datum *out_datum)
{
	*out_datum = (struct dfg_datum){.kind = kind, .list = {.n = n}};
	DFG_TRY(dfg_list_grow(&out_datum->list, 1, n));
	out_datum->list.item = dfg_arena_zeros(eval->arena, n, sizeof *out_datum->list.item);
	return out_datum->list.item ? NULL : dfg_no_memory("a list");
}
