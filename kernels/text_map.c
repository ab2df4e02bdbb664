/* Functions of single strings: StringLower, StringUpper, StringStrip, base64, and hashes of strings. */
#include "kernels/shape_rules.h"
#include "kernels/text_hash.h"
#include "lib/base/base64.h"
#include "lib/base/mem.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

/* Appends the result for one string to the text, which is empty. */
typedef struct dfg_err *map_fn(struct dfg_string s, const union dfg_value *attr, struct dfg_text *text);

static struct dfg_err *map_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *map_element(struct dfg_kernel *ctx, map_fn *map, int64_t i, struct dfg_text *text)
{
	struct dfg_err *err = map(((const struct dfg_string *)ctx->in[0]->data)[i], dfg_kernel_attr(ctx), text);
	if (err)
		return dfg_err_note(err, "string %" PRId64, i);
	DFG_TRY(dfg_text_check(text));
	return dfg_kernel_string(ctx, 0, i, text->s, text->length);
}

static struct dfg_err *map_run(struct dfg_kernel *ctx, map_fn *map)
{
	struct dfg_text text = {0};
	struct dfg_tensor *out;
	struct dfg_err *err = dfg_output_now(ctx, &out);
	for (int64_t i = 0; !err && i < dfg_shape_count(&ctx->in[0]->shape); i++) {
		text.length = 0;
		err = map_element(ctx, map, i, &text);
	}
	dfg_text_release(&text);
	return err;
}

/* Letters of ASCII change; with the encoding utf-8, other letters would too, but their case is not known here. */
static struct dfg_err *change_case(
	struct dfg_string s, const union dfg_value *attr, struct dfg_text *text, char first, char last)
{
	for (size_t i = 0; i < s.length; i++) {
		char byte = s.s[i];
		if ((unsigned char)byte >= 0x80 && attr[0].s.length)
			return DFG_ERR(DFG_DATA,
				"byte %zu is 0x%02x: only the case of letters of ASCII is known; with encoding = '', other bytes are "
				"kept",
				i, (unsigned char)byte);
		if (byte >= first && byte <= last)
			byte ^= 0x20;
		dfg_text_put(text, &byte, 1);
	}
	return NULL;
}

static struct dfg_err *lower(struct dfg_string s, const union dfg_value *attr, struct dfg_text *text)
{
	return change_case(s, attr, text, 'A', 'Z');
}

static struct dfg_err *upper(struct dfg_string s, const union dfg_value *attr, struct dfg_text *text)
{
	return change_case(s, attr, text, 'a', 'z');
}

static struct dfg_err *case_shape(struct dfg_infer *node)
{
	struct dfg_string encoding = node->call->attr[0].s;
	if (encoding.length && (encoding.length != 5 || memcmp(encoding.s, "utf-8", 5) != 0))
		return DFG_ERR(DFG_DATA, "encoding is '%.*s', expected 'utf-8' or ''",
			(int)(encoding.length < 80 ? encoding.length : 80), encoding.s);
	return map_shape(node);
}

static bool is_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static struct dfg_err *strip(struct dfg_string s, const union dfg_value *attr, struct dfg_text *text)
{
	(void)attr;
	size_t first = 0, end = s.length;
	while (end > first && is_space(s.s[end - 1]))
		end--;
	while (first < end && is_space(s.s[first]))
		first++;
	if (end > first)
		dfg_text_put(text, s.s + first, end - first);
	return NULL;
}

/* The alphabet for file names and URLs has '-' and '_' for '+' and '/'. */
static void exchange(char *s, size_t length, const char from[2], const char to[2])
{
	for (size_t i = 0; i < length; i++)
		s[i] = s[i] == from[0] ? to[0] : s[i] == from[1] ? to[1] : s[i];
}

static struct dfg_err *encode(struct dfg_string s, const union dfg_value *attr, struct dfg_text *text)
{
	size_t length = dfg_base64_length(s.length);
	char *to = dfg_zeros(length + 1, 1);
	if (!to)
		return dfg_no_memory("base64");
	if (s.length)
		dfg_base64_encode((const uint8_t *)s.s, s.length, to);
	exchange(to, length, "+/", "-_");
	while (!attr[0].b && length && to[length - 1] == '=')
		length--;
	dfg_text_put(text, to, length);
	dfg_free(to);
	return NULL;
}

static bool is_url_base64(struct dfg_string s)
{
	for (size_t i = 0; i < s.length; i++)
		if (s.s[i] == '+' || s.s[i] == '/' || s.s[i] == 0)
			return false;
	return true;
}

/* Padding is optional, but all or none of it. */
static struct dfg_err *decode(struct dfg_string s, const union dfg_value *attr, struct dfg_text *text)
{
	(void)attr;
	size_t size = 0, length = s.length;
	bool padded = length && s.s[length - 1] == '=', good = is_url_base64(s) && (!padded || length % 4 == 0);
	char *from = dfg_zeros(length + 4, 1);
	uint8_t *to = dfg_zeros(dfg_base64_most(length + 4), 1);
	if (from && to && good && length) {
		memcpy(from, s.s, length);
		exchange(from, length, "-_", "+/");
		while (length % 4)
			from[length++] = '=';
		good = dfg_base64_decode(from, length, to, &size);
	}
	if (from && to && good)
		dfg_text_put(text, to, size);
	bool memory = from && to;
	dfg_free(from);
	dfg_free(to);
	if (!memory)
		return dfg_no_memory("base64");
	return good ? NULL : DFG_ERR(DFG_DATA, "not URL-safe base64 (letters, digits, - and _)");
}

#define MAP(Op, map, text, shape_, ...)                      \
	static struct dfg_err *map##_run(struct dfg_kernel *ctx) \
	{                                                        \
		return map_run(ctx, map);                            \
	}                                                        \
	const struct dfg_op dfg_op_##Op = {                      \
		.name = #Op,                                         \
		.doc = text,                                         \
		.sig = "(input: string) -> (output: string)",        \
		.attr = {__VA_ARGS__},                               \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT, \
		.shape = shape_,                                     \
		.run = map##_run,                                    \
	};
MAP(StringLower, lower, "each string in lower case; only ASCII letters change", case_shape, "encoding: string = ''")
MAP(StringUpper, upper, "each string in upper case; only ASCII letters change", case_shape, "encoding: string = ''")
MAP(StringStrip, strip, "each string without the white space around it", map_shape, NULL)
MAP(EncodeBase64, encode, "each string in URL-safe base64", map_shape, "pad: bool = false")
MAP(DecodeBase64, decode, "each string decoded from URL-safe base64", map_shape, NULL)

/* Hashes of strings, modulo num_buckets. */
static struct dfg_err *hash_run(struct dfg_kernel *ctx, uint64_t (*hash)(const union dfg_value *, struct dfg_string))
{
	uint64_t buckets = (uint64_t)dfg_kernel_attr(ctx)[0].i;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0; i < dfg_shape_count(&out->shape); i++)
		((int64_t *)out->data)[i] =
			(int64_t)(hash(dfg_kernel_attr(ctx), ((const struct dfg_string *)ctx->in[0]->data)[i]) % buckets);
	return NULL;
}

static uint64_t farm(const union dfg_value *attr, struct dfg_string s)
{
	(void)attr;
	return dfg_farm_hash(s.s, s.length);
}

static uint64_t murmur(const union dfg_value *attr, struct dfg_string s)
{
	(void)attr;
	return dfg_murmur_hash(s.s, s.length);
}

static uint64_t sip(const union dfg_value *attr, struct dfg_string s)
{
	const struct dfg_list *key = attr[1].list;
	return dfg_sip_hash((uint64_t)key->item[0].i, (uint64_t)key->item[1].i, s.s, s.length);
}

static struct dfg_err *keyed_shape(struct dfg_infer *node)
{
	if (node->call->attr[1].list->count != 2)
		return DFG_ERR(DFG_DATA, "key has %u numbers, expected 2", node->call->attr[1].list->count);
	return map_shape(node);
}

#define HASH(Op, hash, port, text, shape_, ...)               \
	static struct dfg_err *hash##_run(struct dfg_kernel *ctx) \
	{                                                         \
		return hash_run(ctx, hash);                           \
	}                                                         \
	const struct dfg_op dfg_op_##Op = {                       \
		.name = #Op,                                          \
		.doc = text,                                          \
		.sig = "(" port ": string) -> (output: i64)",         \
		.attr = {"num_buckets: int >= 1", __VA_ARGS__},       \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,  \
		.shape = shape_,                                      \
		.run = hash##_run,                                    \
	};
HASH(StringToHashBucketFast, farm, "input", "a hash of each string in [0, num_buckets): FarmHash", map_shape, NULL)
HASH(StringToHashBucket, murmur, "string_tensor", "a hash of each string in [0, num_buckets): MurmurHash", map_shape,
	NULL)
HASH(StringToHashBucketStrong, sip, "input", "a keyed hash of each string in [0, num_buckets): SipHash", keyed_shape,
	"key: list(int)")
