#include "tests/fuzz.d/targets.h"

#include "formats/json.h"
#include "remote/hosts.h"
#include "remote/ssh_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct dfg_err *see_row(void *arg, const struct dfg_json *object, const struct dfg_json *element, uint64_t i)
{
	uint64_t *rows = arg;
	(void)dfg_json_get(object, "name");
	dfg_fuzz_require(element && i == *rows, "rows come in order");
	++*rows;
	return NULL;
}

void dfg_fuzz_json(const uint8_t *bytes, size_t size)
{
	struct dfg_arena arena = {0}, other = {0};
	struct dfg_json *value = NULL, *rest = NULL;
	uint64_t rows = 0;
	const struct dfg_json_rows by_rows = {.key = "rows", .see = see_row, .arg = &rows};
	struct dfg_err *err = dfg_json_read(bytes, size, &arena, &value);
	struct dfg_err *by_row = dfg_json_read_rows(bytes, size, &by_rows, &other, &rest);
	if (!err && !by_row) {
		const struct dfg_json *list = dfg_json_get(value, "rows");
		const uint64_t count = list && list->kind == DFG_JSON_ARRAY ? list->count : 0;
		dfg_fuzz_require(rows == count, "a list that is read by rows has all its rows");
	}
	dfg_fuzz_end(err);
	dfg_fuzz_end(by_row);
	dfg_arena_release(&arena);
	dfg_arena_release(&other);
}

/* As a file, and its first line as a list. */
void dfg_fuzz_hosts(const uint8_t *bytes, size_t size)
{
	struct dfg_arena arena = {0};
	struct dfg_hosts hosts;
	uint32_t number;
	char list[1024];
	struct dfg_err *err = dfg_hosts_read(dfg_fuzz_file("hosts", bytes, size), &arena, &hosts);
	if (!err)
		err = dfg_hosts_find(&hosts, "w0", &number);
	dfg_fuzz_end(err);
	const size_t length = size < sizeof list ? size : sizeof list - 1;
	memcpy(list, bytes, length);
	list[length] = 0;
	list[strcspn(list, "\n")] = 0;
	dfg_fuzz_end(dfg_hosts_read_list(list, &arena, &hosts));
	dfg_arena_release(&arena);
}

/* Match exec would run what a mutation has written. */
static bool has_exec(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i + 4 <= size; i++)
		if (!strncasecmp((const char *)bytes + i, "exec", 4))
			return true;
	return false;
}

void dfg_fuzz_ssh_config(const uint8_t *bytes, size_t size)
{
	static const char hops[] = "user@host:22";
	struct dfg_arena arena = {0};
	struct dfg_ssh_entry entry;
	struct dfg_ssh_hop hop;
	if (has_exec(bytes, size))
		return;
	setenv("HOME", dfg_fuzz_folder(), 1);
	const struct dfg_ssh_wish wish = {.file = dfg_fuzz_file("ssh_config", bytes, size), .host = "alpha"};
	struct dfg_err *err = dfg_ssh_config_read(&wish, &arena, &entry);
	if (!err)
		dfg_fuzz_require(entry.host_name && entry.user && entry.port, "an entry has a host, a user and a port");
	if (!err && entry.proxy_jump)
		err = dfg_ssh_hop_read(entry.proxy_jump, entry.proxy_jump + strlen(entry.proxy_jump), &arena, &hop);
	dfg_fuzz_end(err);
	dfg_fuzz_end(dfg_ssh_hop_read(hops, hops + sizeof hops - 1, &arena, &hop));
	dfg_fuzz_end(dfg_ssh_hop_read((const char *)bytes, (const char *)bytes + size, &arena, &hop));
	dfg_arena_release(&arena);
}
