#include "tests/unit/test.h"

#include "lib/base/sha256.h"

#include <stdlib.h>

static bool portable;

/* The digest of `count` bytes, given in pieces of `piece`. */
static struct dfg_sha256_words digest_of(const void *bytes, size_t count, size_t piece)
{
	struct dfg_sha256 sha;
	uint8_t digest[DFG_SHA256];
	dfg_sha256_init(&sha);
	sha.portable = portable;
	for (size_t at = 0; at < count; at += piece)
		dfg_sha256_add(&sha, (const uint8_t *)bytes + at, count - at < piece ? count - at : piece);
	dfg_sha256_end(&sha, digest);
	return dfg_sha256_words(digest);
}

/* FIPS 180-4's own examples, and NIST's of the lengths at which padding takes another block. */
static void gives_the_published_digests(void **state)
{
	(void)state;
	static const struct {
		const char *text, *digest;
	} known[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopq"
		 "rstu",
			"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_string_equal(digest_of(known[i].text, strlen(known[i].text), 64).s, known[i].digest);
}

static void gives_the_digest_of_a_million(void **state)
{
	(void)state;
	enum { MILLION = 1000000 };
	char *bytes = malloc(MILLION);
	assert_non_null(bytes);
	memset(bytes, 'a', MILLION);
	const char *digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
	assert_string_equal(digest_of(bytes, MILLION, MILLION).s, digest);
	assert_string_equal(digest_of(bytes, MILLION, 4097).s, digest);
	free(bytes);
}

static void pieces_do_not_matter(void **state)
{
	(void)state;
	enum { MOST = 200 };
	uint8_t bytes[MOST];
	for (int i = 0; i < MOST; i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	for (size_t count = 0; count <= MOST; count++)
		for (size_t piece = 1; piece <= count; piece++)
			assert_string_equal(digest_of(bytes, count, piece).s, digest_of(bytes, count, MOST).s);
}

static int without_instructions(void **state)
{
	(void)state;
	portable = true;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_published_digests),
		cmocka_unit_test(gives_the_digest_of_a_million),
		cmocka_unit_test(pieces_do_not_matter),
	};
	int failed = cmocka_run_group_tests_name("by what the CPU has", tests, NULL, NULL);
	return failed + cmocka_run_group_tests_name("portable", tests, without_instructions, NULL);
}
