#include "tests/fuzz.d/targets.h"

#include "formats/bundle.h"
#include "formats/manifest.h"
#include "formats/plan.h"
#include "formats/string_table.h"
#include "lib/base/mem.h"

#include <stdio.h>
#include <string.h>

/* Replaces each sha256 in the manifest by that of the part, so that a part gets past its check. */
static void set_digests(char *manifest, const uint8_t *part, size_t size)
{
	static const char key[] = "\"sha256\":\"";
	struct dfg_sha256 sha;
	uint8_t digest[DFG_SHA256];
	dfg_sha256_init(&sha);
	dfg_sha256_add(&sha, part, size);
	dfg_sha256_end(&sha, digest);
	const struct dfg_sha256_words words = dfg_sha256_words(digest);
	for (char *at = manifest; (at = strstr(at, key)); at += sizeof key - 1)
		if (strlen(at) >= sizeof key - 1 + strlen(words.s))
			memcpy(at + sizeof key - 1, words.s, strlen(words.s));
}

static void read_plan_manifest(const char *text, size_t length)
{
	struct dfg_plan_folder plan = {.device = NULL};
	dfg_fuzz_end(dfg_plan_folder_read(text, length, &plan));
	plan.parts.parts = 0; /* no part was opened */
	dfg_plan_folder_close(&plan);
}

/* A folder of a manifest and one part. */
void dfg_fuzz_plan(const uint8_t *bytes, size_t size)
{
	const struct dfg_fuzz_parts parts = dfg_fuzz_split(bytes, size);
	struct dfg_arena arena = {0};
	struct dfg_plan_folder plan;
	struct dfg_graph joined = {.arena = NULL};
	struct dfg_faults faults = {.left = 20};
	char *manifest = dfg_arena_zeros(&arena, parts.first_size + 1, 1);
	if (manifest) {
		memcpy(manifest, parts.first, parts.first_size);
		set_digests(manifest, parts.second, parts.second_size);
		read_plan_manifest(manifest, parts.first_size);
		dfg_fuzz_file("w0.pb", parts.second, parts.second_size);
		dfg_fuzz_file("manifest.json", (uint8_t *)manifest, parts.first_size);
		struct dfg_err *err = dfg_plan_folder_open(dfg_fuzz_folder(), NULL, &faults, &plan);
		if (!err && !faults.err)
			err = dfg_plan_folder_join(&plan, &joined);
		dfg_fuzz_end(err);
		dfg_fuzz_end(faults.err);
		dfg_graph_release(&joined);
		dfg_plan_folder_close(&plan);
	}
	dfg_arena_release(&arena);
}

/* The manifest, then the data. */
void dfg_fuzz_checkpoint(const uint8_t *bytes, size_t size)
{
	const struct dfg_fuzz_parts parts = dfg_fuzz_split(bytes, size);
	struct dfg_checkpoint checkpoint;
	int64_t keep;
	const struct dfg_blob blob = {.bytes = parts.first, .size = parts.first_size};
	dfg_fuzz_file("manifest.json", parts.first, parts.first_size);
	dfg_fuzz_file("data.safetensors", parts.second, parts.second_size);
	dfg_fuzz_end(dfg_manifest_keep(&blob, &keep));
	struct dfg_err *err = dfg_checkpoint_load(dfg_fuzz_folder(), NULL, &checkpoint);
	dfg_checkpoint_release(&checkpoint);
	dfg_fuzz_end(err);
}

/* Restores the tensors that the index names, or one name where it cannot be read. */
static void restore_all(const struct dfg_string_table *table, const char *prefix)
{
	for (size_t i = 0; i <= table->count && i < 16; i++) {
		const struct dfg_table_entry *entry = i < table->count ? &table->entry[i] : NULL;
		const struct dfg_string name =
			entry ? (struct dfg_string){entry->key, entry->key_length} : (struct dfg_string){"w", 1};
		struct dfg_tensor tensor = {0};
		struct dfg_err *err = dfg_bundle_files.restore(prefix, 1, &name, &tensor);
		if (!err)
			dfg_tensor_release(&tensor);
		dfg_fuzz_end(err);
	}
}

/* The index, then the elements. */
void dfg_fuzz_bundle(const uint8_t *bytes, size_t size)
{
	const struct dfg_fuzz_parts parts = dfg_fuzz_split(bytes, size);
	struct dfg_string_table table = {0};
	struct dfg_arena arena = {.limit = 64 << 20};
	char prefix[512];
	dfg_fuzz_file("b.index", parts.first, parts.first_size);
	dfg_fuzz_file("b.data-00000-of-00001", parts.second, parts.second_size);
	snprintf(prefix, sizeof prefix, "%s/b", dfg_fuzz_folder());
	dfg_fuzz_end(dfg_string_table_read(parts.first, parts.first_size, &arena, &table));
	restore_all(&table, prefix);
	dfg_string_table_release(&table);
	dfg_arena_release(&arena);
}
