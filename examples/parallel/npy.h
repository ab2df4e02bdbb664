/* The npy files of the examples: little-endian f32 and i32. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void fail(const char *what, const char *path)
{
	fprintf(stderr, "cannot %s %s\n", what, path);
	exit(1);
}

/* kind is 'i' or 'f'; shape is the inside of a Python tuple: "12, 3". */
static inline void write_npy(const char *path, char kind, const char *shape, const void *data, size_t count)
{
	char head[118];
	int length =
		snprintf(head, sizeof head, "{'descr': '<%c4', 'fortran_order': False, 'shape': (%s,), }", kind, shape);
	memset(head + length, ' ', sizeof head - (size_t)length);
	head[sizeof head - 1] = '\n';
	FILE *file = fopen(path, "wb");
	if (!file || fwrite("\x93NUMPY\x01\x00\x76\x00", 10, 1, file) != 1 || fwrite(head, sizeof head, 1, file) != 1 ||
		fwrite(data, 4, count, file) != count || fclose(file))
		fail("write", path);
}

/* The elements, and how many there are. */
static inline void *read_npy(const char *path, size_t *out_count)
{
	unsigned char head[10];
	FILE *file = fopen(path, "rb");
	if (!file || fread(head, sizeof head, 1, file) != 1 || fseek(file, 0, SEEK_END))
		fail("read", path);
	long skip = 10 + head[8] + 256 * head[9], bytes = ftell(file) - skip;
	void *data = malloc((size_t)bytes + 1);
	if (!data || fseek(file, skip, SEEK_SET) || fread(data, 1, (size_t)bytes, file) != (size_t)bytes)
		fail("read", path);
	fclose(file);
	*out_count = (size_t)bytes / 4;
	return data;
}
