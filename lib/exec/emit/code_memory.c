#include "lib/exec/emit/code_memory.h"

#include <string.h>
#include <sys/mman.h>

bool dfg_code_memory_map(const uint8_t *code, size_t size, struct code_memory *out_memory)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return false;
	memcpy(bytes, code, size);
	if (mprotect(bytes, size, PROT_READ | PROT_EXEC)) {
		munmap(bytes, size);
		return false;
	}
	*out_memory = (struct code_memory){bytes, size};
	return true;
}

void dfg_code_memory_unmap(struct code_memory *memory)
{
	if (memory->bytes)
		munmap(memory->bytes, memory->size);
	*memory = (struct code_memory){0};
}
