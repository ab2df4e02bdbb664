#include "lib/graph/op.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A declaration that is being parsed. */
struct reader {
	const char *s;
	struct dfg_signature *signature;
};

static void skip_space(struct reader *r)
{
	r->s += strspn(r->s, " ");
}

static bool take(struct reader *r, const char *token)
{
	skip_space(r);
	if (strncmp(r->s, token, strlen(token)))
		return false;
	r->s += strlen(token);
	return true;
}

static size_t word_length(const char *s)
{
	size_t n = 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

static struct dfg_err *wrong(const struct reader *r, const char *wanted)
{
	return DFG_ERR(DFG_BUG, "declaration: expected %s at '%.40s'", wanted, r->s);
}

static struct dfg_err *read_name(struct reader *r, char *to, size_t capacity)
{
	skip_space(r);
	size_t n = word_length(r->s);
	if (!n || n >= capacity)
		return wrong(r, "a name");
	memcpy(to, r->s, n);
	to[n] = '\0';
	r->s += n;
	return NULL;
}

static int find_param(const struct dfg_signature *signature, const char *name, size_t length)
{
	for (int i = 0; i < signature->n_param; i++)
		if (strlen(signature->param[i].name) == length && !memcmp(signature->param[i].name, name, length))
			return i;
	return -1;
}

/* "float|i32" */
static struct dfg_err *read_classes(struct reader *r, uint64_t *out_types)
{
	*out_types = 0;
	do {
		skip_space(r);
		size_t n = word_length(r->s);
		uint64_t types = dfg_dtype_class(r->s, n);
		if (!types)
			return wrong(r, "a class of types");
		*out_types |= types;
		r->s += n;
	} while (take(r, "|"));
	return NULL;
}

static struct dfg_err *read_param(struct reader *r)
{
	struct dfg_signature *signature = r->signature;
	if (signature->n_param == DFG_PARAM_MAX)
		return wrong(r, "fewer parameters");
	struct dfg_param *param = &signature->param[signature->n_param++];
	DFG_TRY(read_name(r, param->name, sizeof param->name));
	if (!take(r, ":"))
		return wrong(r, "':'");
	param->is_list = take(r, "[");
	DFG_TRY(read_classes(r, &param->types));
	if (param->is_list && !take(r, "]"))
		return wrong(r, "']'");
	param->least = 1;
	if (take(r, ">="))
		param->least = (int)strtol(r->s, (char **)&r->s, 10);
	if (take(r, "=")) {
		skip_space(r);
		size_t n = word_length(r->s);
		if (!(param->default_dtype = dfg_dtype_find(r->s, n)))
			return wrong(r, "a type");
		r->s += n;
	}
	return NULL;
}

/* "T", "i32", "N * T", "N * i32", "[L]" */
static struct dfg_err *read_port_type(struct reader *r, struct dfg_port *port)
{
	struct dfg_signature *signature = r->signature;
	bool bracket = take(r, "[");
	skip_space(r);
	size_t n = word_length(r->s);
	port->type = (int16_t)find_param(signature, r->s, n);
	port->count = -1;
	port->dtype = port->type < 0 ? dfg_dtype_find(r->s, n) : DFG_NO_DTYPE;
	if (!n || (port->type < 0 && !port->dtype))
		return wrong(r, "a type or parameter");
	r->s += n;
	if (bracket && !take(r, "]"))
		return wrong(r, "']'");
	if (port->type >= 0 && take(r, "*")) {
		signature->param[port->type].types = 0; /* the first factor must be a count, not a type */
		struct dfg_port of = {0};
		DFG_TRY(read_port_type(r, &of));
		of.count = port->type;
		memcpy(of.name, port->name, sizeof of.name);
		of.is_ref = port->is_ref;
		*port = of;
	}
	port->is_list = port->type >= 0 && signature->param[port->type].is_list;
	return NULL;
}

static struct dfg_err *read_ports(struct reader *r, struct dfg_port *port, int *out_count)
{
	*out_count = 0;
	if (!take(r, "("))
		return wrong(r, "'('");
	while (!take(r, ")")) {
		if (*out_count == DFG_PORT_MAX)
			return wrong(r, "fewer ports");
		if (*out_count && !take(r, ","))
			return wrong(r, "',' or ')'");
		struct dfg_port *one = &port[(*out_count)++];
		DFG_TRY(read_name(r, one->name, sizeof one->name));
		if (!take(r, ":"))
			return wrong(r, "':'");
		one->is_ref = take(r, "ref ");
		DFG_TRY(read_port_type(r, one));
	}
	return NULL;
}

static struct dfg_err *read_signature(struct reader *r)
{
	struct dfg_signature *signature = r->signature;
	if (take(r, "<"))
		do
			DFG_TRY(read_param(r));
		while (take(r, ","));
	if (signature->n_param && !take(r, ">"))
		return wrong(r, "'>'");
	DFG_TRY(read_ports(r, signature->in, &signature->n_in));
	if (!take(r, "->"))
		return wrong(r, "'->'");
	DFG_TRY(read_ports(r, signature->out, &signature->n_out));
	skip_space(r);
	return *r->s ? wrong(r, "the end") : NULL;
}

static const struct {
	const char *name;
	enum dfg_attr_kind kind;
} kinds[] = {
	{"string", DFG_ATTR_STRING},
	{"int", DFG_ATTR_INT},
	{"float", DFG_ATTR_FLOAT},
	{"bool", DFG_ATTR_BOOL},
	{"dtype", DFG_ATTR_DTYPE},
	{"type", DFG_ATTR_DTYPE},
	{"shape", DFG_ATTR_SHAPE},
	{"tensor", DFG_ATTR_TENSOR},
	{"func", DFG_ATTR_FUNC},
};

static struct dfg_err *read_kind(struct reader *r, struct dfg_attr_decl *decl)
{
	decl->is_list = take(r, "list(");
	skip_space(r);
	size_t n = word_length(r->s);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == n && !memcmp(kinds[i].name, r->s, n))
			decl->kind = kinds[i].kind;
	if (!decl->kind)
		return wrong(r, "a kind of attribute");
	r->s += n;
	return decl->is_list && !take(r, ")") ? wrong(r, "')'") : NULL;
}

static struct dfg_err *read_quoted(struct reader *r, struct dfg_string *out_string)
{
	const char *end = take(r, "'") ? strchr(r->s, '\'') : NULL;
	if (!end)
		return wrong(r, "a quoted string");
	*out_string = (struct dfg_string){r->s, (size_t)(end - r->s)};
	r->s = end + 1;
	return NULL;
}

/* "?" is a shape of unknown rank, "[]" that of a scalar. */
static struct dfg_err *read_shape(struct reader *r, union dfg_value *out_value)
{
	static const struct dfg_shape unknown = {.rank = DFG_UNKNOWN}, scalar = {.rank = 0};
	if (!take(r, "?") && !take(r, "[]"))
		return wrong(r, "'?' or '[]'");
	out_value->shape = r->s[-1] == '?' ? &unknown : &scalar;
	return NULL;
}

static struct dfg_err *read_value(struct reader *r, enum dfg_attr_kind kind, union dfg_value *out_value)
{
	char *end;
	skip_space(r);
	switch (kind) {
	case DFG_ATTR_BOOL:
		out_value->b = take(r, "true");
		return out_value->b || take(r, "false") ? NULL : wrong(r, "true or false");
	case DFG_ATTR_INT:
		out_value->i = strtoll(r->s, &end, 10);
		break;
	case DFG_ATTR_FLOAT:
		out_value->f = (double)strtof(r->s, &end);
		break;
	case DFG_ATTR_STRING:
		return read_quoted(r, &out_value->s);
	case DFG_ATTR_SHAPE:
		return read_shape(r, out_value);
	case DFG_ATTR_DTYPE:
		end = (char *)r->s + word_length(r->s);
		out_value->dtype = dfg_dtype_find(r->s, (size_t)(end - r->s));
		break;
	default:
		return wrong(r, "no default");
	}
	if (end == r->s)
		return wrong(r, "a value");
	r->s = end;
	return NULL;
}

static struct dfg_err *read_list(struct reader *r, enum dfg_attr_kind kind, union dfg_value *out_value)
{
	union dfg_value item[32];
	uint32_t count = 0;
	if (!take(r, "["))
		return wrong(r, "'['");
	while (!take(r, "]")) {
		if (count == sizeof item / sizeof *item || (count && !take(r, ",")))
			return wrong(r, "']'");
		DFG_TRY(read_value(r, kind, &item[count++]));
	}
	struct dfg_list *list = dfg_zeros(1, sizeof *list + count * sizeof *item);
	if (!list)
		return dfg_no_memory("the declaration of an op");
	list->kind = kind;
	list->count = count;
	list->item = memcpy(list + 1, item, count * sizeof *item);
	out_value->list = list;
	return NULL;
}

/* "transpose_a: bool = false", "padding: string in SAME|VALID", "ksize: list(int) >= 4" */
static struct dfg_err *read_attr(struct reader *r, struct dfg_attr_decl *decl)
{
	decl->least = INT64_MIN;
	DFG_TRY(read_name(r, decl->name, sizeof decl->name));
	if (!take(r, ":"))
		return wrong(r, "':'");
	DFG_TRY(read_kind(r, decl));
	if (take(r, "=")) {
		decl->has_default = true;
		DFG_TRY(decl->is_list ? read_list(r, decl->kind, &decl->value) : read_value(r, decl->kind, &decl->value));
	}
	if (take(r, "in ")) {
		skip_space(r);
		decl->allowed = r->s;
		r->s += strcspn(r->s, " ");
	}
	if (take(r, ">="))
		decl->least = strtoll(r->s, (char **)&r->s, 10);
	skip_space(r);
	return *r->s ? wrong(r, "the end") : NULL;
}

static struct dfg_err *read_op(const struct dfg_op *op, struct dfg_signature *signature)
{
	struct reader r = {op->sig, signature};
	DFG_TRY(read_signature(&r));
	for (int i = 0; i < DFG_ATTR_MAX && op->attr[i]; i++) {
		r.s = op->attr[i];
		DFG_TRY(read_attr(&r, &signature->attr[signature->n_attr++]));
	}
	return NULL;
}

/* Signatures by the op's address. Entries are added under the lock and read without it. */
enum { SLOTS = 4096 };
static struct {
	_Atomic(const struct dfg_op *) op;
	struct dfg_signature *signature;
} parsed[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(const struct dfg_op *op)
{
	size_t i = ((uintptr_t)op >> 6) % SLOTS;
	const struct dfg_op *there;
	while ((there = atomic_load_explicit(&parsed[i].op, memory_order_acquire)) && there != op)
		i = (i + 1) % SLOTS;
	return i;
}

static struct dfg_err *parse(const struct dfg_op *op)
{
	size_t slot = slot_of(op);
	if (atomic_load(&parsed[slot].op))
		return NULL;
	struct dfg_signature *signature = dfg_zeros(1, sizeof *signature);
	struct dfg_err *err = signature ? read_op(op, signature) : dfg_no_memory("the declaration of an op");
	if (err) {
		dfg_free(signature);
		return dfg_err_note(err, "op %s", op->name);
	}
	parsed[slot].signature = signature;
	atomic_store_explicit(&parsed[slot].op, op, memory_order_release);
	return NULL;
}

struct dfg_err *dfg_op_signature(const struct dfg_op *op, const struct dfg_signature **out_signature)
{
	size_t slot = slot_of(op);
	if (!atomic_load_explicit(&parsed[slot].op, memory_order_acquire)) {
		pthread_mutex_lock(&lock);
		struct dfg_err *err = parse(op);
		pthread_mutex_unlock(&lock);
		if (err)
			return err;
		slot = slot_of(op);
	}
	*out_signature = parsed[slot].signature;
	return NULL;
}

int dfg_op_attr(const struct dfg_signature *signature, const char *name)
{
	for (int i = 0; i < signature->n_attr; i++)
		if (!strcmp(signature->attr[i].name, name))
			return i;
	return -1;
}
