#define _GNU_SOURCE /* dl_iterate_phdr */
#include "lib/base/build_id.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

enum { SIZE = 48, BYTES = 8 }; /* bytes of the note that are shown */

static char id[SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The build id in a segment of notes; NULL: there is none. */
static const unsigned char *find_note(const char *at, size_t bytes)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		size_t name = (note->n_namesz + 3U) & ~3U, content = (note->n_descsz + 3U) & ~3U;
		if (name > bytes - sizeof *note || content > bytes - sizeof *note - name)
			return NULL;
		const char *owner = at + sizeof *note;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz >= BYTES && name == 4 && !memcmp(owner, "GNU", 4))
			return (const unsigned char *)owner + name;
		at += sizeof *note + name + content;
		bytes -= sizeof *note + name + content;
	}
	return NULL;
}

/* Called for the program first, and ends there. */
static int look_at(struct dl_phdr_info *object, size_t size, void *arg)
{
	const unsigned char **note = arg;
	(void)size;
	for (int i = 0; i < object->dlpi_phnum && !*note; i++)
		if (object->dlpi_phdr[i].p_type == PT_NOTE)
			*note = find_note(
				(const char *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr), object->dlpi_phdr[i].p_filesz);
	return 1;
}

static void find_id(void)
{
	const unsigned char *note = NULL;
	struct utsname machine;
	dl_iterate_phdr(look_at, &note);
	if (!note || uname(&machine))
		return;
	int at = snprintf(id, sizeof id, "%.20s-", machine.machine);
	for (int i = 0; i < BYTES; i++)
		at += snprintf(id + at, sizeof id - (size_t)at, "%02x", note[i]);
}

const char *dfg_build_id(void)
{
	pthread_once(&once, find_id);
	return id;
}

bool dfg_build_ids_agree(const char *one, const char *two)
{
	size_t machine = strcspn(one, "-");
	bool other_machine = strcspn(two, "-") != machine || strncmp(one, two, machine) != 0;
	return !*one || !*two || other_machine || !strcmp(one, two);
}

struct dfg_err *dfg_build_check(const char *other)
{
	if (dfg_build_ids_agree(other, dfg_build_id()))
		return NULL;
	return DFG_ERR(DFG_PROTOCOL,
		"runs another build of dfg %s: %.40s, expected %s; install the same build on all hosts", DFG_VERSION, other,
		dfg_build_id());
}
