#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of machine code. It is never writable and executable at the same time. */
struct code_memory {
	void *bytes;
	size_t size;
};

/* Maps an executable copy of the code; false if the system refuses. */
bool dfg_code_memory_map(const uint8_t *code, size_t size, struct code_memory *out_memory);
void dfg_code_memory_unmap(struct code_memory *memory);
