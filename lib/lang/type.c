#include "lib/lang/type_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/materialise_private.h"
#include "lib/lang/name_scope_private.h"
#include "lib/lang/number_private.h"

#include <string.h>

const char *dfg_type_called(const char *name)
{
	static const char *const called[][2] = {
		{"float", "f32"},
		{"double", "f64"},
		{"half", "f16"},
		{"float16", "f16"},
		{"bfloat16", "bf16"},
		{"float32", "f32"},
		{"float64", "f64"},
		{"int", "i32"},
		{"int8", "i8"},
		{"int16", "i16"},
		{"int32", "i32"},
		{"int64", "i64"},
		{"uint8", "u8"},
		{"uint16", "u16"},
		{"uint32", "u32"},
		{"uint64", "u64"},
		{"complex64", "c64"},
		{"complex128", "c128"},
	};
	for (size_t i = 0; i < sizeof called / sizeof *called; i++)
		if (!strcmp(name, called[i][0]))
			return called[i][1];
	return NULL;
}

static const struct dfg_tree *dims_of(const struct dfg_tree *type)
{
	return type->n ? type->kid[0] : NULL;
}

static bool is_static_type(const struct dfg_tree *type)
{
	static const char *const word[] = {"int", "float", "bool", "str", "dtype", "fn", NULL};
	for (const char *const *w = word; *w; w++)
		if (!strcmp(type->text, *w))
			return type->kind == DFG_TREE_TYPE && !dims_of(type);
	return false;
}

static bool is_callable(const struct dfg_datum *datum)
{
	return datum->kind == DFG_DATUM_FN || datum->kind == DFG_DATUM_BUILTIN || datum->kind == DFG_DATUM_OP ||
		   datum->kind == DFG_DATUM_INSTANCE || datum->kind == DFG_DATUM_DTYPE;
}

static struct dfg_err *match_static(
	struct dfg_eval *eval, const struct dfg_tree *type, const char *name, const struct dfg_datum *datum)
{
	bool number = datum->kind == DFG_DATUM_NUMBER;
	const char *word = type->text;
	bool good = !strcmp(word, "int")     ? number && datum->number.is_int
				: !strcmp(word, "float") ? number
				: !strcmp(word, "bool")  ? datum->kind == DFG_DATUM_BOOL
				: !strcmp(word, "str")   ? datum->kind == DFG_DATUM_STRING
				: !strcmp(word, "dtype") ? datum->kind == DFG_DATUM_DTYPE
										 : is_callable(datum);
	if (good)
		return NULL;
	return DFG_ERR(DFG_DATA, "'%s' must be %s %s that is known while building, not %s", name,
		strchr("aeiou", *word) ? "an" : "a", word, dfg_datum_words(eval, datum));
}

/* The dtype that a type names. A new name with a capital letter matches any dtype: *out_dtype is then none. */
static struct dfg_err *dtype_of(struct dfg_name_scope *bindings, const struct dfg_tree *type, enum dfg_dtype *out_dtype)
{
	const struct dfg_datum *bound = dfg_name_scope_find(bindings, type->text);
	*out_dtype =
		bound && bound->kind == DFG_DATUM_DTYPE ? bound->dtype : dfg_dtype_find(type->text, strlen(type->text));
	if (*out_dtype || (*type->text >= 'A' && *type->text <= 'Z'))
		return NULL;
	struct dfg_nearest nearest = {.word = type->text};
	for (int i = 0; i < DFG_DTYPES; i++)
		if (dfg_dtype_size((enum dfg_dtype)i))
			dfg_nearest_offer(&nearest, dfg_dtype_name((enum dfg_dtype)i));
	if (dfg_type_called(type->text))
		return DFG_ERR(DFG_DATA, "there is no type '%s': it is called %s", type->text, dfg_type_called(type->text));
	return nearest.best ? DFG_ERR(DFG_DATA, "there is no type '%s'; did you mean '%s'?", type->text, nearest.best)
						: DFG_ERR(DFG_DATA, "there is no type '%s'", type->text);
}

static struct dfg_err *like(struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name,
	enum dfg_dtype *out_dtype, struct dfg_shape *out)
{
	const struct dfg_datum *other = dfg_name_scope_find(bindings, name);
	struct dfg_edge edge;
	if (!other)
		return dfg_name_scope_unknown(eval, bindings, name);
	DFG_TRY(dfg_to_edge(eval, other, DFG_NO_DTYPE, &edge));
	*out_dtype = dfg_eval_fact(eval, edge)->dtype;
	*out = dfg_eval_fact(eval, edge)->shape;
	return NULL;
}

/* The value of a dimension, or DFG_UNKNOWN if only a run knows it. */
static struct dfg_err *dim_value(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *dim, int64_t *out_value)
{
	struct dfg_datum datum;
	*out_value = DFG_UNKNOWN;
	DFG_TRY(dfg_eval_expr(eval, bindings, dim, &datum));
	if (datum.kind == DFG_DATUM_DIM || datum.kind == DFG_DATUM_TENSOR)
		return NULL;
	DFG_TRY(dfg_to_int(eval, &datum, "a dimension", out_value));
	return *out_value >= 0 ? NULL
						   : DFG_ERR(DFG_DATA, "a dimension is %lld, expected at least 0", (long long)*out_value);
}

/* Whether a name in a type is a new dimension: it is not bound yet, or only to a function (`time`, `size`, ...). */
static bool is_new(struct dfg_name_scope *bindings, const struct dfg_tree *dim)
{
	if (dim->kind != DFG_TREE_NAME)
		return false;
	const struct dfg_datum *bound = dfg_name_scope_find(bindings, dim->text);
	return !bound || bound->kind == DFG_DATUM_FN || bound->kind == DFG_DATUM_LAYER;
}

struct dfg_err *dfg_type_shape(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *type,
	enum dfg_dtype *out_dtype, struct dfg_shape *out_shape)
{
	const struct dfg_tree *dims = dims_of(type);
	if (type->kind == DFG_TREE_LIKE)
		return dfg_eval_at(eval, type, like(eval, bindings, type->text, out_dtype, out_shape));
	DFG_TRY(dfg_eval_at(eval, type, dtype_of(bindings, type, out_dtype)));
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (!*out_dtype)
		return dfg_eval_at(eval, type, DFG_ERR(DFG_DATA, "there is no type '%s'", type->text));
	if (!dims || (dims->n == 1 && dims->kid[0]->kind == DFG_TREE_REST))
		return NULL;
	if (dims->n > DFG_RANK_MAX)
		return dfg_eval_at(
			eval, dims, DFG_ERR(DFG_DATA, "the type has %u axes, the limit is %d", dims->n, DFG_RANK_MAX));
	*out_shape = (struct dfg_shape){.rank = (int)dims->n};
	for (uint32_t i = 0; i < dims->n; i++) {
		const struct dfg_tree *dim = dims->kid[i];
		out_shape->dim[i] = DFG_UNKNOWN;
		if (dim->kind == DFG_TREE_REST)
			return dfg_eval_at(eval, dim, DFG_ERR(DFG_DATA, "`...` must be the only dimension here"));
		if (dim->kind != DFG_TREE_ANY && !is_new(bindings, dim))
			DFG_TRY(dfg_eval_at(eval, dim, dim_value(eval, bindings, dim, &out_shape->dim[i])));
	}
	return NULL;
}

static struct dfg_err *bind_dim(
	struct dfg_eval *eval, struct dfg_name_scope *bindings, const char *name, struct dfg_edge edge, int axis)
{
	const struct dfg_shape *shape = &dfg_eval_fact(eval, edge)->shape;
	int64_t known = shape->rank < 0 ? DFG_UNKNOWN : shape->dim[axis < 0 ? axis + shape->rank : axis];
	if (known != DFG_UNKNOWN)
		return dfg_name_scope_put(eval->arena, bindings, name, DFG_INT(known));
	struct dfg_dim *dim = dfg_arena_zeros(eval->arena, 1, sizeof *dim);
	if (!dim)
		return dfg_no_memory("the build");
	*dim = (struct dfg_dim){.of = edge, .axis = axis};
	DFG_TRY(dfg_eval_path(eval, eval->scope, name, &dim->path));
	return dfg_name_scope_put(eval->arena, bindings, name, (struct dfg_datum){DFG_DATUM_DIM, .dim = dim});
}

static struct dfg_err *match_dim(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *tree,
	struct dfg_edge edge, const char *name, int axis)
{
	const struct dfg_shape shape = dfg_eval_fact(eval, edge)->shape;
	int64_t wanted, there = shape.rank < 0 ? DFG_UNKNOWN : shape.dim[axis < 0 ? axis + shape.rank : axis];
	if (tree->kind == DFG_TREE_ANY)
		return NULL;
	if (is_new(bindings, tree))
		return bind_dim(eval, bindings, tree->text, edge, axis);
	DFG_TRY(dim_value(eval, bindings, tree, &wanted));
	if (wanted == there || wanted == DFG_UNKNOWN || there == DFG_UNKNOWN)
		return NULL;
	return DFG_ERR(DFG_DATA, "'%s' is %s: axis %d must be %s%s%lld", name,
		dfg_type_words(dfg_eval_fact(eval, edge)->dtype, &shape).s, axis < 0 ? axis + shape.rank : axis,
		tree->kind == DFG_TREE_NAME ? tree->text : "", tree->kind == DFG_TREE_NAME ? " = " : "", (long long)wanted);
}

static int rest_at(const struct dfg_tree *dims)
{
	for (uint32_t i = 0; i < dims->n; i++)
		if (dims->kid[i]->kind == DFG_TREE_REST)
			return (int)i;
	return -1;
}

struct dfg_err *dfg_type_bind_dims(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *type,
	struct dfg_edge edge, const char *name)
{
	const struct dfg_tree *dims = dims_of(type);
	if (!dims)
		return NULL;
	const struct dfg_shape shape = dfg_eval_fact(eval, edge)->shape;
	int rest = rest_at(dims), n = (int)dims->n;
	if (shape.rank >= 0 && (rest < 0 ? shape.rank != n : shape.rank < n - 1))
		return DFG_ERR(DFG_DATA, "'%s' is %s, but it must have %s%d ax%s", name,
			dfg_type_words(dfg_eval_fact(eval, edge)->dtype, &shape).s, rest < 0 ? "" : "at least ",
			rest < 0 ? n : n - 1, (rest < 0 ? n : n - 1) == 1 ? "is" : "es");
	for (int i = 0; i < n; i++)
		if (i != rest)
			DFG_TRY(match_dim(eval, bindings, dims->kid[i], edge, name, rest >= 0 && i > rest ? i - n : i));
	return NULL;
}

/* Gives an untyped number the dtype, so that the body computes in it. */
static struct dfg_err *typed(struct dfg_eval *eval, enum dfg_dtype dtype, struct dfg_datum *datum)
{
	struct dfg_edge edge;
	if (datum->kind == DFG_DATUM_TENSOR || datum->kind == DFG_DATUM_CELL)
		return NULL;
	if (dfg_datum_is_known(datum))
		return dfg_literal_new(eval, datum, dtype, datum);
	if (datum->kind == DFG_DATUM_LITERAL || datum->kind == DFG_DATUM_DIM)
		return NULL;
	DFG_TRY(dfg_to_edge(eval, datum, dtype, &edge));
	*datum = DFG_TENSOR(edge);
	return NULL;
}

static struct dfg_err *match_dtype(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *type,
	const char *name, struct dfg_datum *datum)
{
	enum dfg_dtype wanted, there;
	DFG_TRY(dfg_eval_at(eval, type, dtype_of(bindings, type, &wanted)));
	DFG_TRY(typed(eval, wanted, datum));
	there = dfg_datum_dtype(eval, datum);
	if (!wanted)
		return dfg_name_scope_put(eval->arena, bindings, type->text, DFG_TYPE(there));
	if (there == wanted)
		return NULL;
	return DFG_ERR(DFG_DATA, "'%s' is %s, but must be %s: cast it with %s(...)", name, dfg_datum_words(eval, datum),
		dfg_dtype_name(wanted), dfg_dtype_name(wanted));
}

struct dfg_err *dfg_type_match(struct dfg_eval *eval, struct dfg_name_scope *bindings, const struct dfg_tree *type,
	const char *name, struct dfg_datum *datum)
{
	struct dfg_edge edge;
	if (is_static_type(type))
		return match_static(eval, type, name, datum);
	if (type->kind == DFG_TREE_LIKE) {
		enum dfg_dtype dtype;
		struct dfg_shape shape;
		DFG_TRY(like(eval, bindings, type->text, &dtype, &shape));
		return typed(eval, dtype, datum);
	}
	DFG_TRY(match_dtype(eval, bindings, type, name, datum));
	const struct dfg_tree *dims = dims_of(type);
	if (!dims || (dims->n == 0 && datum->kind == DFG_DATUM_LITERAL && datum->literal->shape.rank == 0))
		return NULL;
	DFG_TRY(dfg_to_edge(eval, datum, DFG_NO_DTYPE, &edge));
	if (datum->kind != DFG_DATUM_CELL)
		*datum = DFG_TENSOR(edge);
	return dfg_type_bind_dims(eval, bindings, type, edge, name);
}
