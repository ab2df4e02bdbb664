#include "remote/derived_key.h"

#include "lib/base/base64.h"
#include "lib/base/sha256.h"
#include "remote/tls.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_hex(const char *hex, uint8_t *out)
{
	for (size_t i = 0; hex[2 * i]; i++) {
		unsigned byte;
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
}

/* The first block of each example of RFC 5869 for SHA-256: with salt and context, long ones, and none. */
static void hkdf_gives_the_published_keys(void **state)
{
	(void)state;
	static const struct {
		const char *secret, *salt, *info, *extracted, *expanded;
	} known[] = {
		{"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
			"077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
			"3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"},
		{"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f"
		 "303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f",
			"606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f"
			"909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
			"b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
			"e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
			"06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
			"b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"},
		{"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
			"19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
			"8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		uint8_t secret[80], salt[80], info[80], key[DFG_KEY_SIZE], out[DFG_KEY_SIZE];
		read_hex(known[i].secret, secret);
		read_hex(known[i].salt, salt);
		read_hex(known[i].info, info);
		dfg_hkdf_extract(salt, strlen(known[i].salt) / 2, secret, strlen(known[i].secret) / 2, key);
		assert_string_equal(dfg_sha256_words(key).s, known[i].extracted);
		dfg_hkdf_expand(key, info, strlen(known[i].info) / 2, out);
		assert_string_equal(dfg_sha256_words(out).s, known[i].expanded);
	}
}

/* RFC 8032's first key pair; what is digested is the public key in the form of RFC 8410. */
static void a_seed_is_a_key_of_ed25519(void **state)
{
	(void)state;
	uint8_t seed[DFG_KEY_SIZE], public[44], digest[DFG_SHA256];
	char fingerprint[DFG_FINGERPRINT_SIZE];
	struct dfg_sha256 sha;
	char wanted[64] = "sha256:";
	read_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", seed);
	read_hex("302a300506032b6570032100d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", public);
	dfg_sha256_init(&sha);
	dfg_sha256_add(&sha, public, sizeof public);
	dfg_sha256_end(&sha, digest);
	dfg_base64_encode(digest, sizeof digest, wanted + strlen(wanted));
	succeeds(dfg_tls_fingerprint_of(seed, fingerprint));
	assert_string_equal(fingerprint, wanted);

	struct dfg_tls *tls;
	succeeds(dfg_tls_new(seed, &tls));
	assert_string_equal(dfg_tls_fingerprint(tls), fingerprint);
	dfg_tls_free(tls);
}

static const char *path;

static struct dfg_err *read_file(const char *text, mode_t mode, struct dfg_secret_key *out_key)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
	return dfg_secret_key_read(path, out_key);
}

static void a_secret_file_is_its_owners(void **state)
{
	(void)state;
	static const char good[] = "0123456789abcdef0123456789abcdef\nmore\n";
	struct dfg_secret_key key;
	succeeds(read_file(good, 0600, &key));
	succeeds(read_file(good, 0400, &key));
	static const mode_t loose[] = {0640, 0604, 0620, 0602, 0610, 0601, 0666};
	for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
		fails(read_file(good, loose[i], &key), DFG_REFUSED, "users other than its owner can read it: chmod 600");
	fails(read_file("", 0600, &key), DFG_REFUSED, "the first line is empty");
	fails(read_file("\nx\n", 0600, &key), DFG_REFUSED, "the first line is empty");
	fails(read_file("0123456789abcdef0123456789abcde\n", 0600, &key), DFG_REFUSED,
		"has 31 characters, but must have at least 32");
	remove(path);
	fails(dfg_secret_key_read(path, &key), DFG_NO_INPUT, "No such file");
}

/* Each worker has a key of its own, and each secret other ones; the secret of the run is another one. */
static void keys_differ_by_number_and_secret(void **state)
{
	(void)state;
	enum { WORKERS = 300 };
	static uint8_t seed[2 * WORKERS + 1][DFG_KEY_SIZE];
	char secret[DFG_SECRET_SIZE];
	struct dfg_secret_key key[2];
	succeeds(read_file("0123456789abcdef0123456789abcdef\n", 0600, &key[0]));
	succeeds(read_file("0123456789abcdef0123456789abcdeg\n", 0600, &key[1]));
	for (uint32_t i = 0; i < 2 * WORKERS; i++)
		dfg_secret_key_worker(&key[i / WORKERS], i % WORKERS, seed[i]);
	dfg_secret_key_run(&key[0], secret);
	assert_int_equal(strlen(secret), DFG_SECRET_SIZE - 1);
	read_hex(secret, seed[2 * WORKERS]);
	for (int i = 0; i < 2 * WORKERS + 1; i++)
		for (int k = 0; k < i; k++)
			assert_true(memcmp(seed[i], seed[k], DFG_KEY_SIZE) != 0);
	remove(path);
}

int main(void)
{
	char name[] = "/tmp/dfg-secret-XXXXXX";
	int fd = mkstemp(name);
	if (fd < 0)
		return 1;
	close(fd);
	path = name;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hkdf_gives_the_published_keys),
		cmocka_unit_test(a_seed_is_a_key_of_ed25519),
		cmocka_unit_test(a_secret_file_is_its_owners),
		cmocka_unit_test(keys_differ_by_number_and_secret),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
