#include "app/record.h"

#include "app/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool is_used(const struct dfg_replication *replication)
{
	return replication && (replication->quorum || replication->bound);
}

/* A line of the file. */
struct line {
	uint64_t step;
	const char *mask; /* of `shards` characters; not terminated */
	size_t shards;
	uint64_t read; /* of an update: the number of updates before its read, + 1; 0: the line has none */
};

/* Reads a number at *at, and moves *at after it; false if there is none, or it is too large. */
static bool read_number(const char **at, const char *end, uint64_t *out_number)
{
	const char *begin = *at;
	*out_number = 0;
	for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
		if (__builtin_mul_overflow(*out_number, 10, out_number) ||
			__builtin_add_overflow(*out_number, (uint64_t)(**at - '0'), out_number))
			return false;
	return *at > begin;
}

/* The number of a read, which ends the line. */
static bool read_read(const char *text, const char *end, struct line *line)
{
	if (text == end)
		return true;
	if (*text++ != ' ' || !read_number(&text, end, &line->read) || text != end)
		return false;
	return ++line->read != 0;
}

/* Reads the line at *at, and moves *at to the next one; false if it is not of the form, or is not terminated. */
static bool read_line(const struct dfg_blob *blob, size_t *at, struct line *out_line)
{
	const char *text = (const char *)blob->bytes + *at, *end = memchr(text, '\n', blob->size - *at);
	*out_line = (struct line){0};
	if (!end)
		return false;
	*at += (size_t)(end - text) + 1;
	if (!read_number(&text, end, &out_line->step) || !out_line->step || text == end || *text != ' ')
		return false;
	for (out_line->mask = ++text; text < end && (*text == '0' || *text == '1'); text++)
		out_line->shards++;
	return out_line->shards && memchr(out_line->mask, '1', out_line->shards) && read_read(text, end, out_line);
}

/* The only shard of a line in a record of --sync ssp; DFG_NONE if the line has several. */
static uint32_t only_shard(const struct line *line)
{
	const char *first = memchr(line->mask, '1', line->shards);
	size_t at = (size_t)(first - line->mask);
	return memchr(first + 1, '1', line->shards - at - 1) ? DFG_NONE : (uint32_t)at;
}

static struct dfg_err *check_line(
	const char *path, uint64_t number, const struct line *line, uint64_t before, uint32_t shards)
{
	if (line->shards != shards)
		return DFG_ERR(DFG_DATA, "%s:%llu: the step has %zu shards, expected %u: give --shards %zu", path,
			(unsigned long long)number, line->shards, shards, line->shards);
	if (line->step <= before)
		return DFG_ERR(DFG_DATA, "%s:%llu: step %llu does not follow step %llu", path, (unsigned long long)number,
			(unsigned long long)line->step, (unsigned long long)before);
	return NULL;
}

static struct dfg_err *check_lines(const char *path, const struct dfg_blob *blob, uint32_t shards, bool single)
{
	struct line line;
	uint64_t before = 0, number = 1;
	for (size_t at = 0; at < blob->size; number++) {
		if (!read_line(blob, &at, &line))
			return DFG_ERR(DFG_DATA, "%s:%llu: expected the number of a step and its shards, such as '12 1101'", path,
				(unsigned long long)number);
		DFG_TRY(check_line(path, number, &line, before, shards));
		bool is_update = line.read && only_shard(&line) != DFG_NONE;
		if (is_update != single)
			return DFG_ERR(DFG_DATA, "%s:%llu: the file is %s", path, (unsigned long long)number,
				single ? "not a record of --sync ssp" : "a record of --sync ssp, which this run does not use");
		before = line.step;
	}
	return NULL;
}

/* The line of the step: steps ascend, and each is asked for once. */
static struct dfg_err *find_line(struct dfg_record *record, uint32_t shards, struct line *out_line)
{
	*out_line = (struct line){0};
	for (size_t at = record->at; at < record->replayed.size && out_line->step < record->step;) {
		record->at = at;
		if (!read_line(&record->replayed, &at, out_line))
			break;
	}
	return out_line->step == record->step && out_line->shards == shards
			   ? NULL
			   : DFG_ERR(DFG_DATA, "%s has no %s %llu", record->replication->replay,
					 record->replication->bound ? "update" : "step", (unsigned long long)record->step);
}

static struct dfg_err *replay(void *arg, uint32_t shards, bool *out_taken)
{
	struct line line;
	DFG_TRY(find_line(arg, shards, &line));
	for (uint32_t i = 0; i < shards; i++)
		out_taken[i] = line.mask[i] == '1';
	return NULL;
}

struct dfg_err *dfg_record_next(struct dfg_record *record, uint32_t shards, uint32_t *out_shard, uint64_t *out_read)
{
	struct line line;
	*out_shard = DFG_NONE;
	if (!record->replication->replay)
		return NULL;
	DFG_TRY(find_line(record, shards, &line));
	*out_shard = only_shard(&line);
	*out_read = line.read - 1;
	return NULL;
}

/* read: as in struct line. */
static struct dfg_err *write_line(struct dfg_record *record, uint32_t shards, const bool *taken, uint64_t read)
{
	struct dfg_text *line = &record->line;
	line->length = 0;
	dfg_text_add(line, "%llu ", (unsigned long long)record->step);
	for (uint32_t i = 0; i < shards; i++)
		dfg_text_put(line, taken[i] ? "1" : "0", 1);
	if (read)
		dfg_text_add(line, " %llu", (unsigned long long)read - 1);
	dfg_text_put(line, "\n", 1);
	DFG_TRY(dfg_text_check(line));
	return dfg_fs_write_all(record->fd, record->replication->record, line->s, line->length);
}

uint64_t dfg_record_read_of(const struct dfg_record *record, uint32_t shard)
{
	struct line line;
	if (!record->replication->replay)
		return 0;
	for (size_t at = record->at; at < record->replayed.size && read_line(&record->replayed, &at, &line);)
		if (line.step > record->step && only_shard(&line) == shard)
			return line.read - 1;
	return UINT64_MAX;
}

struct dfg_err *dfg_record_put(struct dfg_record *record, uint32_t shards, uint32_t shard, uint64_t read)
{
	if (!record->open)
		return NULL;
	bool *taken = dfg_zeros(shards, sizeof *taken);
	if (!taken)
		return dfg_no_memory("a record");
	taken[shard] = true;
	struct dfg_err *err = write_line(record, shards, taken, read + 1);
	dfg_free(taken);
	return err;
}

/* Shards without rows are among the last of a short batch, and are never taken. */
static struct dfg_err *count(void *arg, uint32_t shards, const bool *taken, uint32_t rows)
{
	struct dfg_record *record = arg;
	uint32_t now = 0;
	for (uint32_t i = 0; i < shards; i++)
		now += taken[i];
	record->shards += rows;
	record->dropped += rows > now ? rows - now : 0;
	return record->open ? write_line(record, shards, taken, 0) : NULL;
}

const struct dfg_quorum *dfg_record_quorum(struct dfg_record *record, const struct dfg_replication *replication)
{
	record->replication = replication;
	if (!replication || !replication->quorum)
		return NULL;
	record->quorum = (struct dfg_quorum){.need = (uint32_t)replication->need,
		.replay = replication->replay ? replay : NULL,
		.taken = count,
		.arg = record};
	return &record->quorum;
}

void dfg_record_report(const struct dfg_record *record, const struct dfg_report *report)
{
	if (record->quorum.arg)
		dfg_report_note(report, "%llu of %llu shards were dropped", (unsigned long long)record->dropped,
			(unsigned long long)record->shards);
}

/* The size of the lines of steps up to that number, and the last one's step; 0: there is none. */
static size_t lines_done(const struct dfg_blob *blob, uint64_t steps_done, uint64_t *out_last)
{
	struct line line;
	size_t at = 0, keep = 0;
	*out_last = 0;
	while (at < blob->size && read_line(blob, &at, &line) && line.step <= steps_done) {
		keep = at;
		*out_last = line.step;
	}
	return keep;
}

/* Keeps the lines of steps that are done; a record that lacks some of them could not be replayed. */
static struct dfg_err *cut(const char *path, uint64_t steps_done)
{
	struct dfg_blob blob;
	uint64_t last;
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	size_t keep = lines_done(&blob, steps_done, &last);
	dfg_blob_close(&blob);
	if (last && last < steps_done)
		return DFG_ERR(DFG_DATA,
			"--record %s ends with step %llu, but the run continues after step %llu: give another file", path,
			(unsigned long long)last, (unsigned long long)steps_done);
	return truncate(path, (off_t)keep)
			   ? DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "%s: %s", path, strerror(errno))
			   : NULL;
}

static struct dfg_err *create(struct dfg_record *record, uint64_t steps_done)
{
	const char *path = record->replication->record;
	if (steps_done && !access(path, F_OK))
		DFG_TRY(cut(path, steps_done));
	struct dfg_err *err = dfg_lines_open(path, steps_done > 0, &record->fd);
	record->open = !err;
	return err;
}

struct dfg_err *dfg_record_open(struct dfg_record *record, uint32_t shards, uint64_t steps_done)
{
	const struct dfg_replication *replication = record->replication;
	if (!is_used(replication))
		return NULL;
	if (replication->replay) {
		DFG_TRY(dfg_blob_open(replication->replay, 0, &record->replayed));
		DFG_TRY(check_lines(replication->replay, &record->replayed, shards, replication->bound));
	}
	return replication->record ? create(record, steps_done) : NULL;
}

struct dfg_err *dfg_record_close(struct dfg_record *record)
{
	bool failed = record->open && dfg_fs->close(record->fd);
	record->open = false;
	dfg_text_release(&record->line);
	if (record->replayed.bytes)
		dfg_blob_close(&record->replayed);
	record->replayed = (struct dfg_blob){0};
	return failed ? DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: %s", record->replication->record, strerror(errno))
				  : NULL;
}
