#include "app/explanation.h"
#include "lib/base/plural.h"
#include "lib/exec/group/group.h"

#include <string.h>

/* A bucket of a replicated graph: its rule and its tensors. */
struct bucket_facts {
	const struct dfg_node *start;
	const char *rule;
	enum dfg_dtype dtype;
	bool is_adasum;
	bool if_fetched;                /* its rows are reduced instead, unless it is fetched itself */
	const struct dfg_shape *table;  /* of a gradient that stays rows; NULL: tensors are dense */
	uint64_t number, bytes, extent; /* bytes of the tensors; extent: their elements as a sum has them; 0: of rows */
};

static bool is_start(const struct dfg_node *node)
{
	return node->op && node->op->flags & DFG_CONTRIBUTES && node->n_in;
}

static struct bucket_facts facts_of(const struct dfg_facts *all, const struct dfg_node *start)
{
	const struct dfg_attr *number = dfg_node_attr(start, "bucket"), *reduce = dfg_node_attr(start, "reduce");
	struct bucket_facts facts = {.start = start, .rule = "mean", .dtype = dfg_facts_of(all, start->in[0])->dtype};
	if (reduce && reduce->kind == DFG_ATTR_STRING && reduce->value.s.length == 3)
		facts.rule = "sum";
	if (reduce && reduce->kind == DFG_ATTR_STRING && reduce->value.s.length == 6)
		facts.rule = "Adasum";
	facts.is_adasum = !strcmp(facts.rule, "Adasum");
	if (number && number->kind == DFG_ATTR_INT)
		facts.number = (uint64_t)number->value.i;
	const struct dfg_attr *table = dfg_node_attr(start, "table");
	facts.if_fetched = dfg_node_mark(start, "_dfg_if_fetched", NULL);
	if (table && table->kind == DFG_ATTR_SHAPE && start->n_in == 2) {
		facts.table = table->value.shape;
		facts.dtype = dfg_facts_of(all, start->in[1])->dtype;
		return facts;
	}
	for (uint32_t i = 0; i < start->n_in; i++) {
		const struct dfg_inferred *fact = dfg_facts_of(all, start->in[i]);
		int64_t count = dfg_shape_known(&fact->shape) ? dfg_shape_count(&fact->shape) : 0;
		facts.bytes += (uint64_t)count * dfg_dtype_size(fact->dtype);
		facts.extent += dfg_group_extent(fact->dtype, count);
	}
	return facts;
}

static enum dfg_algorithm over_links(const struct dfg_explained *e)
{
	return dfg_group_algorithm(e->algorithm, e->replicas, e->shards);
}

/* The bytes that a step sends for a bucket, over all links; a server adds what its lanes have received. */
static uint64_t sent_bytes(const struct dfg_explained *e, const struct bucket_facts *bucket)
{
	const struct dfg_group_cost cost = {.algorithm = over_links(e),
		.owner = bucket->is_adasum ? (uint32_t)(bucket->number % e->replicas) : DFG_NONE,
		.dtype = bucket->dtype,
		.extent = bucket->extent,
		.replicas = e->replicas,
		.shards = e->shards};
	return e->servers || bucket->if_fetched ? 0 : dfg_group_bytes(&cost);
}

/* Tensor i of a bucket: the variable whose gradient it is. */
static struct dfg_string name_of(const struct bucket_facts *bucket, uint32_t i)
{
	const struct dfg_attr *names = dfg_node_attr(bucket->start, "tensors");
	bool known = names && names->kind == DFG_ATTR_LIST && names->value.list->kind == DFG_ATTR_STRING &&
				 i < names->value.list->count;
	return known ? names->value.list->item[i].s : (struct dfg_string){"", 0};
}

static uint64_t row_bytes(const struct bucket_facts *bucket)
{
	uint64_t bytes = dfg_dtype_size(bucket->dtype);
	for (int i = 1; i < bucket->table->rank; i++)
		bytes *= (uint64_t)bucket->table->dim[i];
	return bytes;
}

/* Only rows that occur are sent, with their numbers or marks, whichever are smaller. */
static void add_rows(const struct bucket_facts *bucket, struct dfg_text *text)
{
	struct dfg_string name = name_of(bucket, 0);
	const int64_t rows = bucket->table->dim[0];
	dfg_text_add(text, "bucket %llu: %s of rows of '", (unsigned long long)bucket->number, bucket->rule);
	dfg_text_escape(text, name.s, name.length, 200);
	dfg_text_add(text,
		"', %lld rows of %llu bytes of %s: only rows that occur are sent, with their numbers, or from %lld rows on "
		"with a bit map; if all occur, the whole table",
		(long long)rows, (unsigned long long)row_bytes(bucket), dfg_dtype_name(bucket->dtype),
		(long long)dfg_group_marked_from(rows));
}

static void add_bucket(const struct bucket_facts *bucket, struct dfg_text *text)
{
	if (bucket->table) {
		add_rows(bucket, text);
		return;
	}
	dfg_text_add(text, "bucket %llu: %s of %llu bytes of %s:", (unsigned long long)bucket->number, bucket->rule,
		(unsigned long long)bucket->bytes, dfg_dtype_name(bucket->dtype));
	for (uint32_t i = 0; i < bucket->start->n_in; i++) {
		struct dfg_string name = name_of(bucket, i);
		dfg_text_add(text, "%s '", i ? "," : "");
		dfg_text_escape(text, name.s, name.length, 200);
		dfg_text_add(text, "'");
	}
	if (bucket->if_fetched)
		dfg_text_add(text, ", if it is fetched");
}

void dfg_explain_bucket(const struct dfg_facts *facts, const struct dfg_node *start, struct dfg_text *text)
{
	struct bucket_facts bucket = facts_of(facts, start);
	add_bucket(&bucket, text);
}

static const char *name_of_algorithm(enum dfg_algorithm algorithm)
{
	return algorithm == DFG_ALGORITHM_RING ? "ring" : algorithm == DFG_ALGORITHM_HALVING ? "halving" : "direct";
}

/* How a step reduces, and what that costs in messages: those of a replica for each bucket, and those that wait for another. */
static void add_algorithm(const struct dfg_explained *e, struct dfg_text *text)
{
	const enum dfg_algorithm algorithm = over_links(e);
	const uint32_t messages = dfg_group_messages(algorithm, e->replicas);
	const bool may_share = e->algorithm == DFG_ALGORITHM_AUTO || e->algorithm == DFG_ALGORITHM_SHM;
	if (e->replicas < 2 || e->servers)
		return;
	dfg_text_add(text,
		"reduced by --algorithm %s%s: %u messages of a replica for each bucket, %u one after the other\n",
		name_of_algorithm(algorithm), may_share ? ", or shm between processes of one host" : "", messages,
		algorithm == DFG_ALGORITHM_DIRECT ? 2 : messages);
}

void dfg_explain_replication_text(const struct dfg_explained *e, struct dfg_text *text)
{
	uint64_t sent = 0;
	bool by_rows = false;
	if (e->shards < 2)
		return;
	for (uint32_t n = 0; n < e->graph->count; n++)
		if (is_start(&e->graph->node[n])) {
			struct bucket_facts bucket = facts_of(e->facts, &e->graph->node[n]);
			add_bucket(&bucket, text);
			dfg_text_add(text, "\n");
			sent += sent_bytes(e, &bucket);
			by_rows |= bucket.table != NULL;
		}
	dfg_text_add(
		text, "%u shard%s on %u replica%s: ", e->shards, dfg_plural(e->shards), e->replicas, dfg_plural(e->replicas));
	if (e->servers)
		dfg_text_add(text, "servers add the gradients of the shards and update the variables");
	else
		dfg_text_add(text, "%llu bytes of sums a step%s", (unsigned long long)sent,
			by_rows ? " and the rows that occur in it" : "");
	dfg_text_add(text, "; the learning rate is not scaled\n");
	add_algorithm(e, text);
}

static void put_bucket(const struct bucket_facts *bucket, struct dfg_json_out *json)
{
	dfg_json_open(json, '{');
	dfg_json_key(json, "dtype"), dfg_json_string(json, dfg_dtype_name(bucket->dtype));
	dfg_json_key(json, "reduce"), dfg_json_string(json, bucket->rule);
	dfg_json_key(json, "tensors"), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < (bucket->table ? 1 : bucket->start->n_in); i++) {
		struct dfg_string name = name_of(bucket, i);
		dfg_json_bytes(json, name.s, name.length);
	}
	dfg_json_close(json, ']');
	dfg_json_key(json, "bytes"), dfg_json_uint(json, bucket->bytes);
	if (bucket->table) {
		dfg_json_key(json, "rows"), dfg_json_uint(json, (uint64_t)bucket->table->dim[0]);
		dfg_json_key(json, "row_bytes"), dfg_json_uint(json, row_bytes(bucket));
	}
	if (bucket->if_fetched)
		dfg_json_key(json, "if_fetched"), dfg_json_bool(json, true);
	dfg_json_close(json, '}');
}

void dfg_explain_replication_json(const struct dfg_explained *e, struct dfg_json_out *json)
{
	const char *loss = NULL, *rule = NULL;
	uint64_t sent = 0;
	if (e->shards < 2)
		return;
	dfg_json_key(json, "replication"), dfg_json_open(json, '{');
	dfg_json_key(json, "replicas"), dfg_json_uint(json, e->replicas);
	dfg_json_key(json, "shards"), dfg_json_uint(json, e->shards);
	dfg_json_key(json, "buckets"), dfg_json_open(json, '[');
	for (uint32_t n = 0; n < e->graph->count; n++) {
		const struct dfg_node *node = &e->graph->node[n];
		loss = dfg_node_mark(node, "_dfg_loss", NULL) ? node->name : loss;
		if (!is_start(node))
			continue;
		struct bucket_facts bucket = facts_of(e->facts, node);
		put_bucket(&bucket, json);
		rule = rule ? rule : bucket.rule; /* the first ones are of gradients */
		sent += sent_bytes(e, &bucket);
	}
	dfg_json_close(json, ']');
	if (rule)
		dfg_json_key(json, "reduce"), dfg_json_string(json, rule);
	if (loss)
		dfg_json_key(json, "loss"), dfg_json_string(json, loss);
	dfg_json_key(json, "bytes"), dfg_json_uint(json, sent);
	if (e->replicas > 1 && !e->servers) {
		dfg_json_key(json, "algorithm"), dfg_json_string(json, name_of_algorithm(over_links(e)));
		dfg_json_key(json, "messages"), dfg_json_uint(json, dfg_group_messages(over_links(e), e->replicas));
	}
	dfg_json_close(json, '}');
}
