#include "app/serving/serving_private.h"

#include "lib/base/base64.h"
#include "lib/base/sha256.h"

#include <stdio.h>
#include <string.h>

/* The page of the server, page.html, which make embeds in the program. */
extern const char dfg_serving_page[];

/* The hash of the text between two tags, by which the policy allows it. */
static bool hash_between(const char *begin, const char *end, char text[45])
{
	const char *from = strstr(dfg_serving_page, begin), *to = from ? strstr(from, end) : NULL;
	struct dfg_sha256 sha;
	uint8_t digest[32];
	if (!to)
		return false;
	from += strlen(begin);
	dfg_sha256_init(&sha);
	dfg_sha256_add(&sha, from, (size_t)(to - from));
	dfg_sha256_end(&sha, digest);
	dfg_base64_encode(digest, sizeof digest, text);
	text[44] = 0;
	return true;
}

struct dfg_err *dfg_serving_make_policy(struct dfg_serving *serving)
{
	char style[45], script[45];
	if (!hash_between("<style>", "</style>", style) || !hash_between("<script>", "</script>", script))
		return DFG_ERR(DFG_BUG, "internal error: the page of the server has no style or no script");
	serving->policy = dfg_arena_print(&serving->arena,
		"default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; connect-src 'self'; img-src data: blob:; "
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		style, script);
	return serving->policy ? NULL : dfg_no_memory("the server");
}

void dfg_serving_show_page(struct dfg_serving *serving, struct dfg_web_request *request)
{
	struct dfg_web_answer answer = {.status = 200, .type = "text/html; charset=utf-8", .policy = serving->policy};
	dfg_text_put(&answer.body, dfg_serving_page, strlen(dfg_serving_page));
	dfg_serving_reply(&serving->other, request, "page", &answer);
}

static void put_counts(struct dfg_json_out *json, const char *key, const uint64_t *count)
{
	dfg_json_key(json, key), dfg_json_open(json, '[');
	for (int i = 0; i <= DFG_SERVING_BUCKETS; i++)
		dfg_json_uint(json, count[i]);
	dfg_json_close(json, ']');
}

static void put_bounds(struct dfg_json_out *json, const char *key, const double *bound)
{
	dfg_json_key(json, key), dfg_json_open(json, '[');
	for (int i = 0; i < DFG_SERVING_BUCKETS; i++)
		dfg_json_f64(json, bound[i]);
	dfg_json_close(json, ']');
}

/* The numbers that the page draws; counts are those of the histograms of /metrics, each bucket by itself. */
void dfg_serving_show_status(struct dfg_serving *serving, struct dfg_web_request *request)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "time"), dfg_json_f64(&json, (double)(dfg_now() - serving->begin_ns) / 1e9);
	put_bounds(&json, "seconds_bounds", dfg_seconds_bounds);
	put_bounds(&json, "rows_bounds", dfg_rows_bounds);
	dfg_json_key(&json, "models"), dfg_json_open(&json, '[');
	for (size_t i = 0; i < serving->n_served; i++) {
		struct dfg_served *served = &serving->served[i];
		pthread_mutex_lock(&served->lock);
		dfg_json_open(&json, '{');
		dfg_json_key(&json, "name"), dfg_json_string(&json, served->name);
		dfg_json_key(&json, "version"), dfg_json_uint(&json, served->live->version);
		dfg_json_key(&json, "waiting"), dfg_json_uint(&json, served->waiting);
		dfg_json_key(&json, "steps"), dfg_json_uint(&json, served->steps);
		put_counts(&json, "seconds", served->seconds.bucket);
		put_counts(&json, "rows", served->rows.bucket);
		dfg_json_close(&json, '}');
		pthread_mutex_unlock(&served->lock);
	}
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	dfg_serving_reply_json(&serving->other, request, "page", &json);
}
