#include "tests/unit/test.h"

#include "lib/base/base64.h"
#include "remote/web/http1.h"

#include <string.h>

/* Requests as clients and attackers write them, and what RFC 9112 makes of them. */
static int parse(const char *text, struct dfg_http1_head *head)
{
	static char bytes[4096];
	const char *why = "";
	size_t size = strlen(text);
	memcpy(bytes, text, size);
	assert_int_equal(dfg_http1_head_size(text, size, 0), size);
	int status = dfg_http1_parse(bytes, size, head, &why);
	assert_true(!status == !*why);
	return status;
}

static void understands_a_request(void **state)
{
	struct dfg_http1_head head;
	(void)state;
	assert_int_equal(parse("POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Y:  v w \t\r\nContent-Length: 12\r\n\r\n", &head), 0);
	assert_string_equal(head.method, "POST");
	assert_string_equal(head.target, "/a?b=c");
	assert_int_equal(head.fields, 3);
	assert_string_equal(head.field[1].name, "x-y");
	assert_string_equal(head.field[1].value, "v w");
	assert_int_equal(head.length, 12);
	assert_true(head.keeps_alive && !head.is_chunked && !head.expects_continue);
}

static void understands_connections(void **state)
{
	struct dfg_http1_head head;
	(void)state;
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost:\r\nConnection: a, Close\r\n\r\n", &head), 0);
	assert_false(head.keeps_alive);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", &head), 0);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a.example:80\r\n\r\n", &head), 0);
	assert_int_equal(parse("GET / HTTP/1.0\r\n\r\n", &head), 0);
	assert_false(head.keeps_alive);
	assert_int_equal(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &head), 0);
	assert_true(head.keeps_alive);
	assert_int_equal(
		parse("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n", &head), 0);
	assert_true(head.is_chunked && head.expects_continue);
}

/* The first bytes tell that something cannot become a request, whether they come at once or one by one. */
static void sees_at_once_what_is_not_http(void **state)
{
	static const struct {
		const char *text;
		size_t fault; /* bytes up to the one that shows it, or 0 */
	} cases[] = {{"GET / HTTP/1.1\r\nHost: a\r\n", 0}, {"\r", 0}, {"\rG", 1}, {"get / HTTP/1.1\r\n", 1},
		{"\x16\x03\x01", 1}, {"GET / HTTP/1.1\n", 15}, {"GET / HTTP/1.1\r\nHost: a\n", 24}, {"\n", 1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t length = strlen(cases[i].text), at = 0;
		assert_true(!dfg_http1_fault(cases[i].text, length, 0) == !cases[i].fault);
		while (at < length && !dfg_http1_fault(cases[i].text, at + 1, at))
			at++;
		if (*cases[i].text != '\r')
			assert_int_equal(at == length ? 0 : at + 1, cases[i].fault);
	}
	assert_non_null(dfg_http1_fault("GET /\0", 6, 0));
}

/* Two readers could disagree about each of these, or it is not a request. */
static void refuses(void **state)
{
	static const struct {
		int status;
		const char *text;
	} cases[] = {
		{400, "GET / HTTP/1.1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: aConnection: close\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: :a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"},
		{400, "G!T / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "0GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{501, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
		{501, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{400, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n"},
		{400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET /\r\n\r\n"},
		{400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{505, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
		{505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
		{505, "GET / HTTP/1.10\r\nHost: a\r\n\r\n"},
		{417, "GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n"},
	};
	struct dfg_http1_head head;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (parse(cases[i].text, &head) != cases[i].status)
			fail_msg("%s", cases[i].text);
}

static void bounds_fields(void **state)
{
	struct dfg_http1_head head;
	char text[2048] = "GET / HTTP/1.1\r\nHost: a\r\n";
	(void)state;
	for (int i = 0; i < DFG_HTTP1_FIELDS; i++)
		strcat(text, "a: b\r\n");
	assert_int_equal(parse(strcat(text, "\r\n"), &head), 431);
}

/* Decodes in pieces of that size. Returns the number of bytes consumed, or -1. */
static long decode(const char *text, size_t piece, char *out)
{
	struct dfg_http1_chunks chunks = {0};
	size_t at = 0, length = 0, size = strlen(text);
	bool end = false;
	while (!end && at < size) {
		const uint8_t *data;
		size_t used, count, n = size - at < piece ? size - at : piece;
		if (!dfg_http1_chunk(&chunks, (const uint8_t *)text + at, n, &used, &data, &count, &end))
			return -1;
		if (count)
			memcpy(out + length, data, count);
		length += count;
		at += used;
	}
	out[length] = 0;
	return end ? (long)at : 0;
}

static void decodes_chunks(void **state)
{
	static const char text[] = "4\r\nWiki\r\n00C;a=\"b\"\r\npedia in\r\n\r\n\r\n0\r\nX: y\r\n\r\nGET";
	char out[100];
	(void)state;
	for (size_t piece = 1; piece < sizeof text; piece++) {
		assert_int_equal(decode(text, piece, out), (long)sizeof text - 1 - 3);
		assert_string_equal(out, "Wikipedia in\r\n\r\n");
	}
	assert_int_equal(decode("0\r\n\r\n", 9, out), 5);
	assert_int_equal(decode("5\r\nabc", 9, out), 0); /* more must come */
}

static void refuses_chunks(void **state)
{
	static const char *const cases[] = {"\r\n", "g\r\n", "-1\r\n", "1\na\r\n", "1\r\nab\r\n", "1\r\na\n",
		"1\r\na\r\r\n", "0\r\n\n", "0\r\nX: y\n\r\n", "fffffffffffffffff\r\n", "1;a\nb\r\n", "0\r\n X: y\r\n\r\n"};
	char out[100];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (decode(cases[i], 100, out) != -1)
			fail_msg("%s", cases[i]);
}

/* The vectors of RFC 4648, section 10. */
static void base64(void **state)
{
	static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
		{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
	static const char *const bad[] = {"Z", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm 9", "Zg==Zg==", "Zm9v\n"};
	uint8_t bytes[16];
	char text[16];
	size_t size;
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		assert_true(dfg_base64_decode(pairs[i][1], strlen(pairs[i][1]), bytes, &size));
		assert_int_equal(size, strlen(pairs[i][0]));
		assert_memory_equal(bytes, pairs[i][0], size);
		dfg_base64_encode((const uint8_t *)pairs[i][0], size, text);
		assert_memory_equal(text, pairs[i][1], dfg_base64_length(size));
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (dfg_base64_decode(bad[i], strlen(bad[i]), bytes, &size))
			fail_msg("%s", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(understands_a_request),
		cmocka_unit_test(understands_connections),
		cmocka_unit_test(sees_at_once_what_is_not_http),
		cmocka_unit_test(refuses),
		cmocka_unit_test(bounds_fields),
		cmocka_unit_test(decodes_chunks),
		cmocka_unit_test(refuses_chunks),
		cmocka_unit_test(base64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
