#pragma once

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Readers of what strangers send, each as a function of bytes. `make fuzz` lets libFuzzer search for bytes that break one of
 * them; the unit program fuzz_corpus reads the files of tests/fuzz.d/NAME, which are small examples and all that ever broke
 * a reader. To add a target: its function, and a row in targets.c; a folder with examples; NAME.dict, if it reads text.
 */
struct dfg_fuzz_target {
	const char *name;
	void (*examine)(const uint8_t *bytes, size_t size);
	/*
	 * Makes the sums and lengths of mutated bytes right again, in place, so that the mutation gets past the first check.
	 * Returns the new size, at most `size`. NULL: the format has none.
	 */
	size_t (*repair)(uint8_t *bytes, size_t size);
	bool is_protobuf; /* a field of the message, of any depth, is mutated instead of any bytes */
};
extern const struct dfg_fuzz_target dfg_fuzz_targets[]; /* the last has no name */

/* The target of that name, or NULL. */
const struct dfg_fuzz_target *dfg_fuzz_target_find(const char *name);

/* Limits the memory that a target may take; called once, before the first. */
void dfg_fuzz_begin(void);

/* Frees the error of a reader. Aborts if it is one of the library's own faults. */
void dfg_fuzz_end(struct dfg_err *err);

/* Aborts, naming the property that does not hold. */
void dfg_fuzz_require(bool holds, const char *what);

/* Writes a file of that name to a folder of this process, and returns its path, which is valid until the next call. */
const char *dfg_fuzz_file(const char *name, const uint8_t *bytes, size_t size);

/* The path of that folder. */
const char *dfg_fuzz_folder(void);

/* Files of two parts: the first two bytes are the length of the first part. */
struct dfg_fuzz_parts {
	const uint8_t *first, *second;
	size_t first_size, second_size;
};
struct dfg_fuzz_parts dfg_fuzz_split(const uint8_t *bytes, size_t size);

/*
 * Mutates a field of a protobuf message: descends into nested messages as `random` says, lets `mutate` change the bytes of a
 * field, and adapts all lengths around it. Returns the new size, at most `most`; 0: the bytes are not a message.
 */
typedef size_t dfg_fuzz_mutate_fn(uint8_t *bytes, size_t size, size_t most);
size_t dfg_fuzz_mutate_message(uint8_t *bytes, size_t size, size_t most, unsigned random, dfg_fuzz_mutate_fn *mutate);

/* graphs.c, arrays.c, folders.c, wire.c, texts.c: the targets. */
void dfg_fuzz_graphdef(const uint8_t *bytes, size_t size);
void dfg_fuzz_pbtxt(const uint8_t *bytes, size_t size);
void dfg_fuzz_language(const uint8_t *bytes, size_t size);
void dfg_fuzz_npy(const uint8_t *bytes, size_t size);
void dfg_fuzz_npz(const uint8_t *bytes, size_t size);
void dfg_fuzz_safetensors(const uint8_t *bytes, size_t size);
void dfg_fuzz_csv(const uint8_t *bytes, size_t size);
void dfg_fuzz_idx(const uint8_t *bytes, size_t size);
void dfg_fuzz_netcdf(const uint8_t *bytes, size_t size);
void dfg_fuzz_json(const uint8_t *bytes, size_t size);
void dfg_fuzz_hosts(const uint8_t *bytes, size_t size);
void dfg_fuzz_ssh_config(const uint8_t *bytes, size_t size);
void dfg_fuzz_plan(const uint8_t *bytes, size_t size);
void dfg_fuzz_checkpoint(const uint8_t *bytes, size_t size);
void dfg_fuzz_bundle(const uint8_t *bytes, size_t size);
void dfg_fuzz_frames(const uint8_t *bytes, size_t size);
void dfg_fuzz_packets(const uint8_t *bytes, size_t size);
void dfg_fuzz_http1(const uint8_t *bytes, size_t size);
void dfg_fuzz_kserve(const uint8_t *bytes, size_t size);
void dfg_fuzz_predict(const uint8_t *bytes, size_t size);

/* repair.c: the repairs. */
size_t dfg_fuzz_repair_npz(uint8_t *bytes, size_t size);
size_t dfg_fuzz_repair_checkpoint(uint8_t *bytes, size_t size);
size_t dfg_fuzz_repair_bundle(uint8_t *bytes, size_t size);
size_t dfg_fuzz_repair_frames(uint8_t *bytes, size_t size);
