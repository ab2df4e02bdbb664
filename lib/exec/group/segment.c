#define _GNU_SOURCE
#include "lib/exec/group/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct dfg_err *failure(const char *what, size_t bytes)
{
	return DFG_ERR(DFG_MEMORY, "cannot %s %zu bytes of shared memory: %s", what, bytes, strerror(errno));
}

/* The pages are reserved now: one that could not be allocated at its first use would end the process with SIGBUS. */
struct dfg_err *dfg_segment_new(size_t bytes, struct segment *out_segment)
{
	int fd = memfd_create("dfg group", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return failure("create", bytes);
	*out_segment = (struct segment){fd, bytes};
	int failed = bytes > INT64_MAX ? ENOMEM : posix_fallocate(fd, 0, (off_t)bytes);
	errno = failed ? failed : errno;
	if (!failed && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	struct dfg_err *err = failure("reserve", bytes);
	dfg_segment_close(out_segment);
	return err;
}

struct dfg_err *dfg_segment_open(int fd, size_t bytes, struct segment *out_segment)
{
	struct stat stat;
	int seals = fcntl(fd, F_GET_SEALS);
	bool fits = seals >= 0 && seals & F_SEAL_SHRINK && !fstat(fd, &stat) && (uint64_t)stat.st_size == bytes;
	*out_segment = (struct segment){fd, bytes};
	if (fits)
		return NULL;
	dfg_segment_close(out_segment);
	return DFG_ERR(DFG_PROTOCOL, "the shared memory of replica 0 is not a sealed segment of %zu bytes", bytes);
}

struct dfg_err *dfg_segment_map(const struct segment *segment, size_t offset, size_t bytes, void **out_memory)
{
	int flags = MAP_SHARED | MAP_POPULATE;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, segment->fd, (off_t)offset);
	if (at == MAP_FAILED)
		return failure("map", bytes);
	*out_memory = at;
	return NULL;
}

struct dfg_err *dfg_segment_detach(void *memory, size_t bytes)
{
	void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return failure("copy", bytes);
	memcpy(copy, memory, bytes);
	if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == memory)
		return NULL;
	struct dfg_err *err = failure("copy", bytes);
	munmap(copy, bytes);
	return err;
}

void dfg_segment_close(struct segment *segment)
{
	if (segment->bytes)
		close(segment->fd);
	*segment = (struct segment){0};
}

size_t dfg_segment_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (bytes + page - 1) / page * page;
}

void dfg_bell_ring(struct segment_bell *bell)
{
	if (atomic_load(&bell->sleepers))
		dfg_bell_strike(bell);
}

void dfg_bell_strike(struct segment_bell *bell)
{
	atomic_fetch_add(&bell->word, 1);
	syscall(SYS_futex, (void *)&bell->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void dfg_bell_sleep(struct segment_bell *bell, uint32_t seen, uint64_t ns)
{
	const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
	syscall(SYS_futex, (void *)&bell->word, FUTEX_WAIT_BITSET, seen, ns ? &until : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}
