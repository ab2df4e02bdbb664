#include "remote/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct machine {
	unsigned number;
	const char *name;
} machines[] = {
	{EM_X86_64, "x86_64"},
	{EM_AARCH64, "aarch64"},
	{EM_RISCV, "riscv64"},
	{EM_PPC64, "ppc64"},
	{EM_S390, "s390x"},
	{EM_LOONGARCH, "loongarch64"},
	{EM_386, "i686"},
	{EM_ARM, "arm"},
};

const char *dfg_elf_machine(const unsigned char *header, size_t count)
{
	if (count < DFG_ELF_HEADER || memcmp(header, ELFMAG, SELFMAG) != 0)
		return NULL;
	const bool big = header[EI_DATA] == ELFDATA2MSB;
	const unsigned number = (unsigned)header[18 + big] | (unsigned)header[19 - big] << 8;
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machines[i].number == number)
			return machines[i].name;
	return NULL;
}

struct dfg_err *dfg_elf_check(const char *program, const unsigned char *header, size_t count, const char *machine)
{
	const char *built_for = dfg_elf_machine(header, count);
	/* uname has suffixes: "armv7l", "ppc64le" */
	if (!built_for || !strncmp(machine, built_for, strlen(built_for)))
		return NULL;
	return DFG_ERR(DFG_UNAVAILABLE, "%s: built for %s, but the host is %s", program, built_for, machine);
}

struct dfg_err *dfg_elf_check_file(const char *program)
{
	unsigned char header[DFG_ELF_HEADER];
	struct utsname host;
	const int fd = open(program, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	const ssize_t count = read(fd, header, sizeof header);
	close(fd);
	return count > 0 && !uname(&host) ? dfg_elf_check(program, header, (size_t)count, host.machine) : NULL;
}
