#include "lib/graph/resolve_cache.h"

#include "lib/base/mem.h"
#include "lib/graph/facts.h"

#include <string.h>

enum {
	KEY_WORDS = 96,      /* calls with a longer key are not shared */
	IN_MOST = 64,        /* the most inputs of a node whose inference is cached */
	FEW = 16,            /* the most outputs of such a node */
	SHARED_MOST = 65536, /* the most entries of a table, for graphs in which all nodes differ */
};

/* Each table maps keys, as bytes, to the values that follow them in the arena. */
struct dfg_resolve_cache {
	struct dfg_arena arena;
	struct dfg_map calls, inferred;
	struct dfg_map facts, known, holds; /* the key is itself the value */
};

void dfg_resolve_cache_free(struct dfg_resolve_cache *alike)
{
	if (!alike)
		return;
	dfg_arena_release(&alike->arena);
	dfg_map_release(&alike->calls);
	dfg_map_release(&alike->inferred);
	dfg_map_release(&alike->facts);
	dfg_map_release(&alike->known);
	dfg_map_release(&alike->holds);
	dfg_free(alike);
}

static struct dfg_err *ready(struct dfg_facts *facts)
{
	if (!facts->alike && !(facts->alike = dfg_zeros(1, sizeof *facts->alike)))
		return dfg_no_memory("the attributes and ports of nodes");
	return NULL;
}

/* Adds an entry: the key and `more` zeroed bytes after it, where *out_value points. */
static struct dfg_err *enter(
	struct dfg_map *map, struct dfg_arena *arena, const void *key, size_t length, size_t more, void *out_value)
{
	uint32_t number;
	char *entry = dfg_arena_zeros(arena, length + more, 1);
	if (!entry)
		return dfg_no_memory("the attributes and ports of nodes");
	memcpy(entry, key, length);
	void *value = entry + length;
	memcpy(out_value, &value, sizeof value); /* out_value is the address of a pointer to any type */
	return dfg_map_put(map, entry, length, &number, NULL) ? NULL : dfg_no_memory("the attributes and ports of nodes");
}

/* The value after an entry's key. */
static const void *value_of(const struct dfg_map *map, uint32_t number)
{
	return map->name[number].s + map->name[number].length;
}

/* A key that is being composed; words < 0: it is too long. */
struct key {
	uint64_t word[KEY_WORDS];
	int words;
};

static void add_bytes(struct key *key, const void *bytes, size_t length)
{
	size_t words = (length + 7) / 8;
	if (key->words < 0 || words > (size_t)(KEY_WORDS - key->words)) {
		key->words = -1;
		return;
	}
	if (words)
		key->word[key->words + (int)words - 1] = 0;
	memcpy(&key->word[key->words], bytes, length);
	key->words += (int)words;
}

static void add_word(struct key *key, uint64_t word)
{
	if (key->words >= 0 && key->words < KEY_WORDS)
		key->word[key->words++] = word;
	else
		key->words = -1;
}

static void add_float(struct key *key, double value)
{
	add_bytes(key, &value, sizeof value);
}

static void add_value(struct key *key, enum dfg_attr_kind kind, const union dfg_value *value)
{
	switch (kind) {
	case DFG_ATTR_INT:
		add_word(key, (uint64_t)value->i);
		break;
	case DFG_ATTR_FLOAT:
		add_float(key, value->f);
		break;
	case DFG_ATTR_BOOL:
		add_word(key, value->b);
		break;
	case DFG_ATTR_DTYPE:
		add_word(key, (uint64_t)value->dtype);
		break;
	case DFG_ATTR_STRING:
		add_word(key, value->s.length);
		add_bytes(key, value->s.s, value->s.length);
		break;
	case DFG_ATTR_SHAPE:
		add_word(key, (uint64_t)(int64_t)value->shape->rank);
		for (int i = 0; i < value->shape->rank; i++)
			add_word(key, (uint64_t)value->shape->dim[i]);
		break;
	default:
		key->words = -1;
	}
}

static void add_list(struct key *key, const struct dfg_list *list)
{
	add_word(key, (uint64_t)list->kind << 32 | list->count);
	for (uint32_t i = 0; i < list->count && key->words >= 0; i++)
		add_value(key, list->kind, &list->item[i]);
}

/*
 * Names of attributes are compared by address. Within a graph equal names mostly have one address; if not, a call is
 * only stored twice.
 */
static void call_key(const struct dfg_node *node, struct key *key)
{
	key->words = 0;
	add_word(key, (uint64_t)(uintptr_t)node->op);
	add_word(key, (uint64_t)node->n_attr << 32 | node->n_in);
	for (uint32_t i = 0; i < node->n_attr && key->words >= 0; i++) {
		const struct dfg_attr *attr = &node->attr[i];
		add_word(key, (uint64_t)(uintptr_t)attr->name);
		add_word(key, (uint64_t)attr->kind);
		if (attr->kind == DFG_ATTR_LIST)
			add_list(key, attr->value.list);
		else
			add_value(key, attr->kind, &attr->value);
	}
}

static struct dfg_err *new_call(struct dfg_resolve_cache *alike, const struct dfg_graph *graph, uint32_t node,
	const struct key *key, struct dfg_resolved_node *out_call)
{
	struct dfg_resolved_node *kept;
	DFG_TRY(dfg_node_resolve(graph, node, &alike->arena, out_call));
	out_call->alike = (uint32_t)alike->calls.count + 1;
	DFG_TRY(enter(&alike->calls, &alike->arena, key->word, (size_t)key->words * 8, sizeof *kept, &kept));
	*kept = *out_call;
	return NULL;
}

struct dfg_err *dfg_facts_resolve(struct dfg_facts *facts, const struct dfg_graph *graph, uint32_t number,
	struct dfg_arena *brief, struct dfg_resolved_node *out_call)
{
	const struct dfg_node *node = &graph->node[number];
	struct key key;
	DFG_TRY(ready(facts));
	struct dfg_resolve_cache *alike = facts->alike;
	call_key(node, &key);
	if (!node->op || key.words < 0)
		return dfg_node_resolve(graph, number, brief, out_call);
	uint32_t found = dfg_map_find(&alike->calls, (const char *)key.word, (size_t)key.words * 8);
	if (found != DFG_NONE) {
		memcpy(out_call, value_of(&alike->calls, found), sizeof *out_call);
		out_call->node = node->name;
		return NULL;
	}
	if (alike->calls.count == SHARED_MOST)
		return dfg_node_resolve(graph, number, brief, out_call);
	return new_call(alike, graph, number, &key, out_call);
}

/* Interns the value: gives the equal one that is stored already, or a new copy; NULL for NULL. */
static struct dfg_err *intern(
	struct dfg_map *map, struct dfg_arena *arena, const void *thing, size_t size, void *out_kept)
{
	uint32_t found = thing ? dfg_map_find(map, thing, size) : DFG_NONE;
	const void *kept = found != DFG_NONE ? map->name[found].s : NULL;
	if (thing && !kept) {
		uint32_t number;
		kept = dfg_arena_copy(arena, thing, size);
		if (!kept || (map->count < SHARED_MOST && !dfg_map_put(map, kept, size, &number, NULL)))
			return dfg_no_memory("the attributes and ports of nodes");
	}
	memcpy(out_kept, &kept, sizeof kept); /* out_kept is the address of a pointer to any type */
	return NULL;
}

static struct dfg_err *intern_fact(
	struct dfg_facts *facts, const struct dfg_inferred *fact, const struct dfg_inferred **out_fact)
{
	struct dfg_resolve_cache *alike = facts->alike;
	const struct dfg_known_value *known = fact->known ? fact->known : fact->matrix;
	struct dfg_inferred plain;
	memset(&plain, 0, sizeof plain); /* padding is part of the key */
	plain.dtype = fact->dtype;
	plain.is_ref = fact->is_ref;
	plain.shape.rank = fact->shape.rank;
	for (int i = 0; i < fact->shape.rank; i++)
		plain.shape.dim[i] = fact->shape.dim[i];
	size_t size = known ? sizeof *known + (size_t)known->count * sizeof *known->v : 0;
	DFG_TRY(intern(&alike->known, facts->arena, known, size, &known));
	dfg_fact_set_known(&plain, known);
	DFG_TRY(intern(&alike->holds, facts->arena, fact->holds, sizeof *fact->holds, &plain.holds));
	return intern(&alike->facts, facts->arena, &plain, sizeof plain, out_fact);
}

static struct dfg_err *infer_few(struct dfg_facts *facts, const struct dfg_resolved_node *call,
	const struct dfg_inferred *const *in, struct dfg_inferred *fact, const struct dfg_inferred **out)
{
	DFG_TRY(dfg_infer_node(call, in, facts->arena, fact));
	for (int i = 0; i < call->n_out; i++)
		DFG_TRY(intern_fact(facts, &fact[i], &out[i]));
	return NULL;
}

static struct dfg_err *infer(struct dfg_facts *facts, const struct dfg_resolved_node *call,
	const struct dfg_inferred *const *in, const struct dfg_inferred **out)
{
	struct dfg_inferred few[FEW];
	if (call->n_out <= FEW)
		return infer_few(facts, call, in, few, out);
	struct dfg_inferred *fact = dfg_zeros(call->n_out, sizeof *fact);
	if (!fact)
		return dfg_no_memory("the attributes and ports of nodes");
	struct dfg_err *err = infer_few(facts, call, in, fact, out);
	dfg_free(fact);
	return err;
}

struct dfg_err *dfg_facts_infer(struct dfg_facts *facts, const struct dfg_resolved_node *call,
	const struct dfg_inferred *const *in, const struct dfg_inferred **out)
{
	uintptr_t key[1 + IN_MOST];
	const struct dfg_inferred **kept;
	DFG_TRY(ready(facts));
	struct dfg_map *map = &facts->alike->inferred;
	if (!call->alike || call->n_in > IN_MOST || call->n_out > FEW)
		return infer(facts, call, in, out);
	size_t length = (1 + (size_t)call->n_in) * sizeof *key, size = call->n_out * sizeof *out;
	key[0] = call->alike;
	for (int i = 0; i < call->n_in; i++)
		key[1 + i] = (uintptr_t)in[i];
	uint32_t found = dfg_map_find(map, (const char *)key, length);
	if (found != DFG_NONE) {
		if (size)
			memcpy(out, value_of(map, found), size);
		return NULL;
	}
	DFG_TRY(infer(facts, call, in, out));
	if (map->count == SHARED_MOST)
		return NULL;
	DFG_TRY(enter(map, &facts->alike->arena, key, length, size, &kept));
	if (size)
		memcpy(kept, out, size);
	return NULL;
}
