#define _GNU_SOURCE
#include "lib/base/io.h"
#include "lib/base/pool.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The start of a small file of the kernel's; "" where there is none. */
static void read_start(const char *path, char *text, size_t capacity)
{
	text[0] = '\0';
	int fd = dfg_fs->open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	ssize_t n = dfg_fs->read(fd, text, capacity - 1);
	text[n > 0 ? n : 0] = '\0';
	dfg_fs->close(fd);
}

static int affinity(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set))
		return (int)sysconf(_SC_NPROCESSORS_ONLN);
	return CPU_COUNT(&set);
}

/* "200000 100000" is two processors' time in each period; "max 100000" any. */
static int quota(const char *text, int most)
{
	long long share, period;
	if (sscanf(text, "%lld %lld", &share, &period) != 2 || share <= 0 || period <= 0)
		return most;
	long long whole = (share + period - 1) / period;
	return whole < most ? (int)whole : most;
}

/* The process's cgroup and all above it have a say. */
static int cgroup(int most)
{
	char text[1024], path[1200];
	read_start("/proc/self/cgroup", text, sizeof text);
	char *group = strstr(text, "0::/");
	group = group ? group + 3 : (char[]){"/"};
	group[strcspn(group, "\n")] = '\0';
	for (;;) {
		char limit[64];
		snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
		read_start(path, limit, sizeof limit);
		most = quota(limit, most);
		char *parent = strrchr(group, '/');
		if (!parent || !*group)
			return most;
		*parent = '\0';
	}
}

int dfg_threads_allowed(void)
{
	int threads = cgroup(affinity());
	return threads > 1 ? threads : 1;
}
