#include "cmd/cmd.h"

#include <protobuf-c/protobuf-c.h>
#include <zlib.h>

static const struct dfg_opt options[] = {
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{0},
};

static struct dfg_err *version(char **operands, int *out_status)
{
	(void)operands, (void)out_status;
	if (dfg_globals.json)
		printf("{\"dfg\": \"%s\", \"protobuf-c\": \"%s\", \"zlib\": \"%s\"}\n", DFG_VERSION, protobuf_c_version(),
			zlibVersion());
	else
		printf("dfg %s (protobuf-c %s, zlib %s)\n", DFG_VERSION, protobuf_c_version(), zlibVersion());
	return NULL;
}

const struct dfg_cmd dfg_cmd_version = {
	.name = "version",
	.operands = "",
	.summary = "print the versions of dfg and of its libraries",
	.options = options,
	.run = version,
};
