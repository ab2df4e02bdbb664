#include "app/array_source.h"

#include "formats/bundle.h"
#include "lib/base/path.h"

#include <unistd.h>

static void note_damage(void *report, const char *text)
{
	dfg_report_note(report, "warning: %s; an older checkpoint is used", text);
}

bool dfg_array_source_is_prefix(const char *path)
{
	return access(path, F_OK) && dfg_bundle_is(path);
}

struct dfg_err *dfg_array_source_read(
	const char *path, const struct dfg_report *report, struct dfg_checkpoint *out_source)
{
	const struct dfg_notes notes = {note_damage, (void *)report};
	*out_source = (struct dfg_checkpoint){0};
	if (dfg_is_directory(path))
		return dfg_checkpoint_load(path, &notes, out_source);
	if (dfg_array_source_is_prefix(path))
		return dfg_bundle_read(path, &out_source->arrays);
	return dfg_arrays_read(path, &out_source->arrays);
}

struct dfg_err *dfg_array_source_read_words(
	const char *words, const struct dfg_report *report, struct dfg_checkpoint *out_source)
{
	if (!dfg_is_array_of_file(words))
		return dfg_array_source_read(words, report, out_source);
	*out_source = (struct dfg_checkpoint){0};
	return dfg_arrays_read_words(words, &out_source->arrays);
}
