#include "formats/plan.h"

#include "formats/json.h"
#include "lib/base/mem.h"
#include "lib/exec/group/group.h"
#include "lib/exec/transport/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLAIN = 1, SHARDED, BLOCKED, DEVICE_MOST = 256, DEVICES_MOST = 4096 }; /* versions first */
static const char format[] = "dfg plan";
static const char *const each_name[] = {"step", "pivot", "turn"};

const char *dfg_plan_folder_each(const struct dfg_transfer *transfer)
{
	return each_name[transfer->depth ? 1 + transfer->each_evaluation : 0];
}

static void put_string(const char *string, struct dfg_text *text)
{
	struct dfg_json_out json = {.text = *text};
	dfg_json_string(&json, string);
	*text = json.text;
}

/* printf would be too slow for the up to a million transfers. */
static void put_words(struct dfg_text *text, const char *words)
{
	dfg_text_put(text, words, strlen(words));
}

static void put_number(struct dfg_text *text, const char *before, uint64_t number)
{
	char digits[20];
	size_t first = sizeof digits;
	do
		digits[--first] = (char)('0' + number % 10);
	while (number /= 10);
	put_words(text, before);
	dfg_text_put(text, digits + first, sizeof digits - first);
}

static void put_shape(const struct dfg_shape *shape, struct dfg_text *text)
{
	if (shape->rank < 0) {
		dfg_text_put(text, "null", 4);
		return;
	}
	dfg_text_put(text, "[", 1);
	for (int i = 0; i < shape->rank; i++)
		if (shape->dim[i] < 0)
			put_words(text, i ? ",null" : "null");
		else
			put_number(text, i ? "," : "", (uint64_t)shape->dim[i]);
	dfg_text_put(text, "]", 1);
}

static void put_part(const struct dfg_plan_folder *plan, uint32_t i, struct dfg_text *text)
{
	dfg_text_add(text, "%s\n{\"name\":", i ? "," : "");
	put_string(plan->device[i], text);
	dfg_text_add(text, ",\"file\":\"w%u.pb\",\"nodes\":%" PRIu64 ",\"sha256\":\"%s\"}", i, plan->nodes[i],
		dfg_sha256_words(plan->digest[i]).s);
}

static void put_transfer(const struct dfg_transfer *transfer, uint32_t number, struct dfg_text *text)
{
	put_number(text, number ? ",\n{\"number\":" : "\n{\"number\":", number);
	put_words(text, ",\"tensor\":");
	put_string(transfer->tensor, text);
	put_number(text, ",\"from\":\"w", transfer->from);
	put_number(text, "\",\"to\":\"w", transfer->to);
	put_words(text, "\",\"dtype\":\"");
	put_words(text, dfg_dtype_name(transfer->dtype));
	put_words(text, "\",\"shape\":");
	put_shape(&transfer->shape, text);
	put_words(text, ",\"loop\":");
	put_string(transfer->loop, text);
	put_number(text, ",\"depth\":", transfer->depth);
	put_words(text, ",\"each\":\"");
	put_words(text, dfg_plan_folder_each(transfer));
	put_words(text, "\"}");
}

static struct dfg_err *flush(struct dfg_text *text, struct dfg_out *out)
{
	DFG_TRY(dfg_text_check(text));
	DFG_TRY(dfg_out_write(out, text->s, text->length));
	text->length = 0;
	return NULL;
}

bool dfg_plan_launch_is_given(const struct dfg_plan_launch *launch)
{
	return *launch->transport || launch->lease > 0 || launch->restarts || launch->push;
}

void dfg_plan_launch_json(const struct dfg_plan_launch *launch, struct dfg_json_out *json)
{
	dfg_json_open(json, '{');
	if (*launch->transport)
		dfg_json_key(json, "transport"), dfg_json_string(json, launch->transport);
	if (launch->lease > 0)
		dfg_json_key(json, "lease"), dfg_json_f64(json, launch->lease);
	if (launch->restarts)
		dfg_json_key(json, "restarts"), dfg_json_uint(json, launch->restarts);
	if (launch->push)
		dfg_json_key(json, "push"), dfg_json_bool(json, true);
	dfg_json_close(json, '}');
}

static void put_launch(const struct dfg_plan_launch *launch, struct dfg_text *text)
{
	struct dfg_json_out json = {.text = *text};
	if (!dfg_plan_launch_is_given(launch))
		return;
	dfg_json_key(&json, "launch"), dfg_plan_launch_json(launch, &json);
	*text = json.text;
	put_words(text, ",");
}

/* One line per entry, so that a change of an entry changes one line. */
static struct dfg_err *print(const struct dfg_plan_folder *plan, struct dfg_text *text, struct dfg_out *out)
{
	bool sharded = plan->shards > 1;
	dfg_text_add(text, "{\"format\":\"%s\",\"version\":%d,", format,
		plan->blocks ? BLOCKED
		: sharded    ? SHARDED
					 : PLAIN);
	if (plan->blocks)
		dfg_text_add(text, "\"blocks\":%u,", plan->blocks);
	if (sharded)
		dfg_text_add(text, "\"shards\":%u,\"buckets\":%u,", plan->shards, plan->buckets);
	put_launch(&plan->launch, text);
	dfg_text_add(text, "\"devices\":[");
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		put_part(plan, i, text);
	dfg_text_add(text, "\n],\"transfers\":[");
	for (uint32_t i = 0; i < plan->parts.transfers; i++) {
		put_transfer(&plan->parts.transfer[i], i, text);
		DFG_TRY(flush(text, out));
	}
	dfg_text_add(text, "\n]}\n");
	return flush(text, out);
}

struct dfg_err *dfg_plan_folder_print(const struct dfg_plan_folder *plan, struct dfg_out *out)
{
	struct dfg_text text = {0};
	struct dfg_err *err = print(plan, &text, out);
	dfg_text_release(&text);
	return err;
}

/* A string without zero characters, in the plan's arena. */
static struct dfg_err *need_string(
	const struct dfg_json *object, const char *key, struct dfg_arena *arena, const char **out_string)
{
	const struct dfg_json *member;
	DFG_TRY(dfg_json_need(object, key, DFG_JSON_STRING, &member));
	if (strlen(member->string) != member->count)
		return DFG_ERR(DFG_DATA, "\"%s\" contains a zero character", key);
	*out_string = dfg_arena_copy(arena, member->string, member->count);
	return *out_string ? NULL : dfg_no_memory("the manifest of the plan");
}

static struct dfg_err *check_device(const struct dfg_plan_folder *plan, uint32_t i)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:";
	const char *name = plan->device[i];
	size_t length = strlen(name);
	if (strncmp(name, "/job:", 5) || length > DEVICE_MOST || strspn(name, plain) != length)
		return DFG_ERR(
			DFG_DATA, "\"name\" is '%.200s', expected the name of a device such as /job:worker/task:0", name);
	for (uint32_t j = 0; j < i; j++)
		if (!strcmp(plan->device[j], name))
			return DFG_ERR(DFG_DATA, "w%u also has the name %s", j, name);
	return NULL;
}

static struct dfg_err *read_digest(const struct dfg_json *object, uint8_t digest[DFG_SHA256])
{
	static const char digits[] = "0123456789abcdef";
	const struct dfg_json *member;
	DFG_TRY(dfg_json_need(object, "sha256", DFG_JSON_STRING, &member));
	if (member->count != 2 * DFG_SHA256 || strspn(member->string, digits) != member->count)
		return DFG_ERR(DFG_DATA, "\"sha256\" is not 64 lower-case hexadecimal digits");
	for (int i = 0; i < DFG_SHA256; i++)
		digest[i] = (uint8_t)((strchr(digits, member->string[2 * i]) - digits) << 4 |
							  (strchr(digits, member->string[2 * i + 1]) - digits));
	return NULL;
}

/* The file name of a part is determined by its number; the text is only checked against it. */
static struct dfg_err *read_part(const struct dfg_json *part, uint32_t i, struct dfg_plan_folder *plan)
{
	const char *file;
	char wanted[24];
	DFG_TRY(need_string(part, "name", &plan->arena, &plan->device[i]));
	DFG_TRY(check_device(plan, i));
	DFG_TRY(need_string(part, "file", &plan->arena, &file));
	snprintf(wanted, sizeof wanted, "w%u.pb", i);
	if (strcmp(file, wanted))
		return DFG_ERR(DFG_DATA, "\"file\" is \"%.80s\", must be \"%s\"", file, wanted);
	DFG_TRY(dfg_json_need_size(part, "nodes", &plan->nodes[i]));
	return read_digest(part, plan->digest[i]);
}

static struct dfg_err *read_device(
	const struct dfg_json *object, const char *key, const struct dfg_plan_folder *plan, uint32_t *out_device)
{
	const struct dfg_json *member;
	char back[16];
	unsigned device = UINT32_MAX;
	DFG_TRY(dfg_json_need(object, key, DFG_JSON_STRING, &member));
	if (member->count < sizeof back && sscanf(member->string, "w%9u", &device) == 1)
		snprintf(back, sizeof back, "w%u", device);
	if (device >= plan->parts.parts || strcmp(back, member->string))
		return DFG_ERR(DFG_DATA, "\"%s\" must be from w0 to w%u", key, plan->parts.parts - 1);
	*out_device = device;
	return NULL;
}

static struct dfg_err *read_shape(const struct dfg_json *object, struct dfg_shape *out_shape)
{
	const struct dfg_json *list = dfg_json_get(object, "shape");
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (list && list->kind == DFG_JSON_NULL)
		return NULL;
	DFG_TRY(dfg_json_need(object, "shape", DFG_JSON_ARRAY, &list));
	if (list->count > DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "\"shape\" has %zu dims, more than %d", list->count, DFG_RANK_MAX);
	out_shape->rank = 0;
	for (const struct dfg_json *dim = list->first; dim; dim = dim->next) {
		bool unknown = dim->kind == DFG_JSON_NULL;
		if (!unknown && (!dim->whole || dim->integer < 0))
			return DFG_ERR(DFG_DATA, "\"shape\" has dimension %d that is neither null nor an integer of at least 0",
				out_shape->rank);
		out_shape->dim[out_shape->rank++] = unknown ? DFG_UNKNOWN : dim->integer;
	}
	return NULL;
}

/* Reads the loops around a transfer, and how often it happens in them. */
static struct dfg_err *read_loop(const struct dfg_json *object, struct dfg_arena *arena, struct dfg_transfer *transfer)
{
	const struct dfg_json *each;
	uint64_t depth;
	DFG_TRY(need_string(object, "loop", arena, &transfer->loop));
	DFG_TRY(dfg_json_need_size(object, "depth", &depth));
	DFG_TRY(dfg_json_need(object, "each", DFG_JSON_STRING, &each));
	if (depth > DFG_LINK_DEPTH || !depth != !*transfer->loop)
		return DFG_ERR(DFG_DATA, "\"depth\" is %llu in loop '%s', expected %d to %d", (unsigned long long)depth,
			transfer->loop, *transfer->loop ? 1 : 0, *transfer->loop ? DFG_LINK_DEPTH : 0);
	transfer->depth = (uint32_t)depth;
	for (int evaluation = 0; evaluation < 2; evaluation++) {
		transfer->each_evaluation = evaluation && depth;
		if (!strcmp(each->string, dfg_plan_folder_each(transfer)))
			return NULL;
	}
	return DFG_ERR(DFG_DATA, "\"each\" is '%.40s', expected %s", each->string,
		depth ? "pivot or turn, because it is in a loop" : "step, because it is outside of loops");
}

static struct dfg_err *read_transfer(const struct dfg_json *object, uint32_t i, struct dfg_plan_folder *plan)
{
	struct dfg_transfer *transfer = &plan->parts.transfer[i];
	const struct dfg_json *dtype;
	uint64_t number;
	*transfer = (struct dfg_transfer){.loop = ""};
	DFG_TRY(dfg_json_need_size(object, "number", &number));
	if (number != i)
		return DFG_ERR(
			DFG_DATA, "\"number\" is %llu, expected %u: transfers are listed in order", (unsigned long long)number, i);
	DFG_TRY(need_string(object, "tensor", &plan->arena, &transfer->tensor));
	DFG_TRY(read_device(object, "from", plan, &transfer->from));
	DFG_TRY(read_device(object, "to", plan, &transfer->to));
	if (transfer->from == transfer->to)
		return DFG_ERR(DFG_DATA, "goes from w%u to w%u: its ends must be on two devices", transfer->from, transfer->to);
	DFG_TRY(dfg_json_need(object, "dtype", DFG_JSON_STRING, &dtype));
	if (!(transfer->dtype = dfg_dtype_find(dtype->string, strlen(dtype->string))))
		return DFG_ERR(DFG_DATA, "\"dtype\" is '%.40s', expected a dtype such as f32", dtype->string);
	DFG_TRY(read_shape(object, &transfer->shape));
	DFG_TRY(read_loop(object, &plan->arena, transfer));
	if (!*transfer->loop)
		transfer->loop = "";
	return NULL;
}

static struct dfg_err *read_parts(const struct dfg_json *list, struct dfg_plan_folder *plan)
{
	struct dfg_arena *arena = &plan->arena;
	if (!list->count || list->count > DEVICES_MOST)
		return DFG_ERR(DFG_DATA, "lists %zu devices, expected 1 to %d", list->count, DEVICES_MOST);
	plan->parts.part = dfg_arena_zeros(arena, list->count, sizeof *plan->parts.part);
	plan->device = dfg_arena_zeros(arena, list->count, sizeof *plan->device);
	plan->blob = dfg_arena_zeros(arena, list->count, sizeof *plan->blob);
	plan->digest = dfg_arena_zeros(arena, list->count, sizeof *plan->digest);
	plan->nodes = dfg_arena_zeros(arena, list->count, sizeof *plan->nodes);
	if (!plan->parts.part || !plan->device || !plan->blob || !plan->digest || !plan->nodes)
		return dfg_no_memory("the manifest of the plan");
	plan->parts.parts = (uint32_t)list->count;
	uint32_t i = 0;
	for (const struct dfg_json *part = list->first; part; part = part->next, i++)
		DFG_TRY(dfg_err_note(read_part(part, i, plan), "device %u", i));
	return NULL;
}

static struct dfg_err *read_shards(const struct dfg_json *manifest, struct dfg_plan_folder *plan)
{
	uint64_t shards, buckets;
	DFG_TRY(dfg_json_need_size(manifest, "shards", &shards));
	DFG_TRY(dfg_json_need_size(manifest, "buckets", &buckets));
	if (shards < 2 || shards > DFG_SHARDS_MOST)
		return DFG_ERR(DFG_DATA, "\"shards\" is %llu, expected 2 to %d", (unsigned long long)shards, DFG_SHARDS_MOST);
	if (buckets > UINT32_MAX)
		return DFG_ERR(DFG_DATA, "\"buckets\" is %llu, more than %u", (unsigned long long)buckets, UINT32_MAX);
	plan->shards = (uint32_t)shards;
	plan->buckets = (uint32_t)buckets;
	return NULL;
}

static struct dfg_err *read_blocks(const struct dfg_json *manifest, struct dfg_plan_folder *plan)
{
	uint64_t blocks;
	DFG_TRY(dfg_json_need_size(manifest, "blocks", &blocks));
	if (blocks < 1 || blocks > INT32_MAX / 2)
		return DFG_ERR(DFG_DATA, "\"blocks\" is %llu, expected 1 to %d", (unsigned long long)blocks, INT32_MAX / 2);
	plan->blocks = (uint32_t)blocks;
	return NULL;
}

static struct dfg_err *read_transport(const struct dfg_json *given, struct dfg_plan_launch *launch)
{
	const struct dfg_json *member;
	DFG_TRY(dfg_json_need(given, "transport", DFG_JSON_STRING, &member));
	if (!member->count || member->count >= sizeof launch->transport)
		return DFG_ERR(DFG_DATA, "\"transport\" must be auto, libcurl or shm, not '%.40s'", member->string);
	memcpy(launch->transport, member->string, member->count + 1);
	return NULL;
}

/* Whether there is such a transport, and a lease may be so long, is known where workers are started. */
static struct dfg_err *read_launch(const struct dfg_json *manifest, struct dfg_plan_launch *launch)
{
	const struct dfg_json *given = dfg_json_get(manifest, "launch"), *member;
	uint64_t restarts = 0;
	if (!given)
		return NULL;
	DFG_TRY(dfg_json_need(manifest, "launch", DFG_JSON_OBJECT, &given));
	if (dfg_json_get(given, "transport"))
		DFG_TRY(read_transport(given, launch));
	if (dfg_json_get(given, "lease")) {
		DFG_TRY(dfg_json_need(given, "lease", DFG_JSON_NUMBER, &member));
		launch->lease = member->number;
	}
	if (dfg_json_get(given, "restarts"))
		DFG_TRY(dfg_json_need_size(given, "restarts", &restarts));
	if (restarts > INT32_MAX)
		return DFG_ERR(DFG_DATA, "\"restarts\" is %" PRIu64 ", more than %d", restarts, INT32_MAX);
	launch->restarts = (uint32_t)restarts;
	if (dfg_json_get(given, "push")) {
		DFG_TRY(dfg_json_need(given, "push", DFG_JSON_BOOL, &member));
		launch->push = member->truth;
	}
	return NULL;
}

/* Reads the members before the transfers, which are necessary to understand these. */
static struct dfg_err *read_head(const struct dfg_json *manifest, struct dfg_plan_folder *plan)
{
	const struct dfg_json *is, *list;
	uint64_t version;
	DFG_TRY(dfg_json_need(manifest, "format", DFG_JSON_STRING, &is));
	DFG_TRY(dfg_json_need_size(manifest, "version", &version));
	if (strcmp(is->string, format) || version < PLAIN || version > BLOCKED)
		return DFG_ERR(DFG_DATA, "is \"%.40s\" version %llu, expected \"%s\" version %d to %d", is->string,
			(unsigned long long)version, format, PLAIN, BLOCKED);
	plan->shards = 1;
	if (version == SHARDED)
		DFG_TRY(read_shards(manifest, plan));
	if (version == BLOCKED)
		DFG_TRY(read_blocks(manifest, plan));
	DFG_TRY(read_launch(manifest, &plan->launch));
	DFG_TRY(dfg_json_need(manifest, "devices", DFG_JSON_ARRAY, &list));
	return read_parts(list, plan);
}

/* Read one by one: all transfers as JSON would need ten times the memory of the text. */
static struct dfg_err *read_row(void *arg, const struct dfg_json *manifest, const struct dfg_json *transfer, uint64_t i)
{
	struct dfg_plan_folder *plan = arg;
	if (!i)
		DFG_TRY(read_head(manifest, plan));
	if (i >= INT32_MAX)
		return DFG_ERR(DFG_DATA, "transfers: there are more than %d", INT32_MAX);
	if (!dfg_reserve(&plan->parts.transfer, &plan->transfer_capacity, i + 1, sizeof *plan->parts.transfer))
		return dfg_no_memory("the manifest of the plan");
	DFG_TRY(dfg_err_note(read_transfer(transfer, (uint32_t)i, plan), "transfer %" PRIu64, i));
	plan->parts.transfers = (uint32_t)i + 1;
	return NULL;
}

struct dfg_err *dfg_plan_folder_read(const void *text, size_t length, struct dfg_plan_folder *plan)
{
	struct dfg_arena arena = {.limit = ((size_t)64 << 20)};
	const struct dfg_json_rows rows = {"transfers", read_row, plan};
	struct dfg_json *manifest;
	const struct dfg_json *list;
	struct dfg_err *err = dfg_json_read_rows(text, length, &rows, &arena, &manifest);
	if (!err && !plan->device)
		err = read_head(manifest, plan);
	if (!err)
		err = dfg_json_need(manifest, "transfers", DFG_JSON_ARRAY, &list);
	dfg_arena_release(&arena);
	return err;
}
