#include "lib/exec/linear/linear.h"

#include "lib/exec/linear/activation_private.h"

static struct dfg_err *give_fetch(struct line *line, uint32_t i, struct dfg_tensor *out_fetch)
{
	uint32_t slot = line->layout->fetch[i];
	struct dfg_tensor *tensor = &line->tensor[slot];
	*out_fetch = (struct dfg_tensor){0};
	if (line->plan->fetch[i] < line->plan->first_feed &&
		!dfg_guard_holds(line->plan->course, line->chosen, line->plan->course->slot_guard[line->plan->fetch[i]]))
		return dfg_dead_branch(line->plan, line->chosen, i);
	if (dfg_is_ref(tensor))
		return dfg_variable_read(tensor->data, out_fetch);
	if (!line->layout->moves[i] || !tensor->buffer)
		return dfg_tensor_share(tensor, out_fetch);
	*out_fetch = *tensor;
	*tensor = (struct dfg_tensor){0};
	return NULL;
}

static struct dfg_err *give_fetches(struct line *line, struct dfg_tensor *out_fetches)
{
	for (uint32_t i = 0; i < line->plan->step.n_fetch; i++) {
		struct dfg_err *err = give_fetch(line, i, &out_fetches[i]);
		if (!err)
			continue;
		while (i--)
			dfg_tensor_release(&out_fetches[i]);
		return err;
	}
	return NULL;
}

static struct dfg_err *new_line(struct layout *layout, struct line **out_line)
{
	const struct dfg_plan *plan = layout->plan;
	struct line *line = dfg_zeros(1, sizeof *line);
	if (!line)
		return dfg_no_memory("the values of the step");
	line->layout = layout;
	line->plan = plan;
	line->runner.session = plan->session;
	line->block = layout->block < SIZE_MAX / 4 ? dfg_mem->take(dfg_mem, layout->block, DFG_ALIGN) : NULL;
	line->tensor = dfg_zeros(plan->slots, sizeof *line->tensor);
	line->at = dfg_zeros(layout->uses, sizeof *line->at);
	line->data = dfg_zeros(layout->uses, sizeof *line->data);
	line->shift = dfg_zeros(layout->moves_made, sizeof *line->shift);
	line->chosen = dfg_zeros(plan->course->flags, sizeof *line->chosen);
	line->iteration = dfg_zeros(plan->course->loops, sizeof *line->iteration);
	line->saved = dfg_zeros(plan->course->saves, sizeof *line->saved);
	if (!line->saved || !line->block || !line->tensor || !line->at || !line->data || !line->shift || !line->chosen ||
		!line->iteration) {
		dfg_line_free(line);
		return DFG_ERR(DFG_MEMORY, "no memory for a step of %zu bytes", layout->block);
	}
	for (uint32_t i = 0; i < plan->slots; i++)
		dfg_line_start(line, i);
	for (uint32_t i = 0; i < layout->uses; i++) {
		line->at[i] = &line->tensor[layout->use[i]];
		line->data[i] = line->at[i]->data;
	}
	for (uint32_t r = 0; r < plan->count && plan->course->saves; r++)
		if (plan->record[r].role == DFG_SAVE)
			line->saved[plan->course->save[r]] =
				(struct saved){.keys = plan->record[r].n_in - 1, .bytes = layout->saved[plan->course->save[r]]};
	for (uint32_t i = 0; i < layout->moves_made; i++)
		line->shift[i] = (struct shift){line->tensor[layout->move[i].to].data, line->tensor[layout->move[i].from].data};
	*out_line = line;
	return NULL;
}

/* After a step: as the next one finds it. */
static void reset(struct line *line, bool failed)
{
	const struct layout *layout = line->layout;
	for (uint32_t i = 0; i < (failed ? layout->n_counted : layout->n_final); i++)
		dfg_tensor_release(&line->tensor[layout->counted[i]]);
	line->frames = 0;
	for (uint32_t i = 0; i < line->plan->course->saves; i++)
		dfg_saved_clear(&line->saved[i]);
}

static void give_back(struct line *line, struct layout *layout)
{
	struct dfg_plan *plan = layout->plan;
	size_t peak = dfg_buffers_peak(plan->session->buffers);
	pthread_mutex_lock(&plan->lock);
	plan->stats = (struct dfg_stats){
		.peak_bytes = layout->block + (peak > line->before ? peak - line->before : 0),
		.live_bytes = line->live > layout->live ? line->live : layout->live,
		.iterations = line->iterations,
		.dead_tokens = line->dead_tokens,
		.saves = line->saves,
		.peak_frames = line->peak_frames,
	};
	line->dead_tokens = line->iterations = line->saves = 0;
	line->peak_frames = 0;
	line->live = 0;
	line->next = layout->idle;
	layout->idle = line;
	pthread_mutex_unlock(&plan->lock);
}

static bool is_for(const struct layout *layout, const struct dfg_tensor *feeds)
{
	for (uint32_t i = 0; layout->feed && i < layout->plan->step.n_feed; i++)
		if (!dfg_shape_equal(&layout->feed[i], &feeds[i].shape))
			return false;
	return true;
}

/* More layouts than that are not kept for feeds of ever new shapes: the last one fits all. */
enum { LAYOUTS_MOST = 64 };

static struct dfg_err *find_layout(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct layout **out_layout)
{
	struct layout *layout = plan->layouts;
	while (layout->next && !is_for(layout, feeds))
		layout = layout->next;
	*out_layout = layout;
	if (layout->next || layout->feed || plan->sized || plan->n_layouts >= LAYOUTS_MOST)
		return NULL;
	DFG_TRY(dfg_layout_make(plan, feeds, &layout));
	layout->next = plan->layouts;
	plan->layouts = *out_layout = layout;
	plan->n_layouts++;
	return NULL;
}

struct dfg_err *dfg_layouts_begin(struct dfg_plan *plan)
{
	plan->sized = true;
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		plan->sized &= dfg_shape_known(&plan->feed[i].shape);
	return dfg_layout_make(plan, NULL, &plan->layouts);
}

void dfg_layouts_free(struct dfg_plan *plan)
{
	while (plan->layouts) {
		struct layout *layout = plan->layouts;
		plan->layouts = layout->next;
		dfg_layout_free(layout);
	}
}

/* With the plan's lock held. */
static struct dfg_err *take(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct line **out_line)
{
	struct layout *layout;
	DFG_TRY(find_layout(plan, feeds, &layout));
	struct line *line = *out_line = layout->idle;
	if (!line)
		return new_line(layout, out_line);
	layout->idle = line->next;
	return NULL;
}

struct dfg_err *dfg_line_run(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct dfg_tensor *out_fetches)
{
	struct line *line;
	pthread_mutex_lock(&plan->lock);
	struct dfg_err *err = take(plan, feeds, &line);
	pthread_mutex_unlock(&plan->lock);
	if (err)
		return err;
	line->before = dfg_buffers_mark(plan->session->buffers);
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		line->tensor[plan->first_feed + i] = feeds[i];
	for (uint32_t i = 0; i < line->layout->n_fed; i++)
		line->data[line->layout->fed[i]] = feeds[line->layout->use[line->layout->fed[i]] - plan->first_feed].data;
	dfg_watch_begin(&line->watch, &plan->session->options);
	err = dfg_ops_run(line);
	if (!err)
		err = give_fetches(line, out_fetches);
	reset(line, err);
	give_back(line, line->layout);
	return err;
}
