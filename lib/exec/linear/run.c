#include "lib/exec/linear/linear.h"

#include "lib/exec/linear/activation_private.h"

static struct dfg_err *give_fetch(struct activation *activation, uint32_t i, struct dfg_tensor *out_fetch)
{
	uint32_t slot = activation->program->fetch[i];
	struct dfg_tensor *tensor = &activation->tensor[slot];
	*out_fetch = (struct dfg_tensor){0};
	if (activation->plan->fetch[i] < activation->plan->first_feed &&
		!dfg_condition_holds(activation->plan->schedule, activation->chosen,
			activation->plan->schedule->slot_condition[activation->plan->fetch[i]]))
		return dfg_dead_branch(activation->plan, activation->chosen, i);
	if (dfg_is_ref(tensor) || !activation->program->moves[i] || !tensor->buffer)
		return dfg_share_fetch(activation->plan, i, tensor, out_fetch);
	*out_fetch = *tensor;
	*tensor = (struct dfg_tensor){0};
	return NULL;
}

static struct dfg_err *give_fetches(struct activation *activation, struct dfg_tensor *out_fetches)
{
	for (uint32_t i = 0; i < activation->plan->step.n_fetch; i++) {
		struct dfg_err *err = give_fetch(activation, i, &out_fetches[i]);
		if (!err)
			continue;
		while (i--)
			dfg_tensor_release(&out_fetches[i]);
		return err;
	}
	return NULL;
}

static struct dfg_err *new_activation(struct program *program, struct activation **out_activation)
{
	const struct dfg_plan *plan = program->plan;
	struct activation *activation = dfg_zeros(1, sizeof *activation);
	if (!activation)
		return dfg_no_memory("the values of the step");
	activation->program = program;
	activation->plan = plan;
	activation->runner.session = plan->session;
	activation->runner.control = &activation->watch.control;
	activation->block = program->bytes < SIZE_MAX / 4 ? dfg_mem->take(dfg_mem, program->bytes, DFG_ALIGN) : NULL;
	activation->tensor = dfg_zeros(program->slots, sizeof *activation->tensor);
	activation->at = dfg_zeros(program->uses, sizeof *activation->at);
	activation->data = dfg_zeros(program->uses, sizeof *activation->data);
	activation->fixed_move = dfg_zeros(program->moves_made, sizeof *activation->fixed_move);
	activation->chosen = dfg_zeros(plan->schedule->predicates, sizeof *activation->chosen);
	activation->iteration = dfg_zeros(plan->schedule->loops, sizeof *activation->iteration);
	activation->saved = dfg_zeros(plan->schedule->saves, sizeof *activation->saved);
	bool profiles = plan->session->options.profile;
	activation->counter = profiles ? dfg_zeros(program->count, sizeof *activation->counter) : NULL;
	if ((profiles && !activation->counter) || !activation->saved || !activation->block || !activation->tensor ||
		!activation->at || !activation->data || !activation->fixed_move || !activation->chosen ||
		!activation->iteration) {
		dfg_activation_free(activation);
		return DFG_ERR(DFG_MEMORY, "no memory for a step of %zu bytes", program->bytes);
	}
	for (uint32_t i = 0; i < program->slots; i++)
		dfg_activation_start_slot(activation, i);
	for (uint32_t i = 0; i < program->uses; i++) {
		activation->at[i] = &activation->tensor[program->use[i]];
		activation->data[i] = activation->at[i]->data;
	}
	for (uint32_t r = 0; r < plan->count && plan->schedule->saves; r++)
		if (plan->node[r].role == DFG_SAVE)
			activation->saved[plan->schedule->save[r]] =
				(struct saved_values){.keys = plan->node[r].n_in - 1, .bytes = program->saved[plan->schedule->save[r]]};
	for (uint32_t i = 0; i < program->moves_made; i++)
		activation->fixed_move[i] = (struct fixed_move){
			activation->tensor[program->move[i].to].data, activation->tensor[program->move[i].from].data};
	*out_activation = activation;
	return NULL;
}

/* Resets the activation after a step. */
static void reset_activation(struct activation *activation, bool failed)
{
	const struct program *program = activation->program;
	for (uint32_t i = 0; i < (failed ? program->n_counted : program->n_final); i++)
		dfg_tensor_release(&activation->tensor[program->counted[i]]);
	activation->frames = 0;
	for (uint32_t i = 0; i < activation->plan->schedule->saves; i++)
		dfg_saved_clear(&activation->saved[i]);
}

static void return_activation(struct activation *activation, struct program *program)
{
	struct dfg_plan *plan = program->plan;
	size_t peak = dfg_buffer_pool_peak(plan->session->buffers);
	pthread_mutex_lock(&plan->lock);
	plan->stats = (struct dfg_stats){
		.peak_bytes = program->bytes + (peak > activation->before ? peak - activation->before : 0),
		.live_bytes = activation->live > program->live ? activation->live : program->live,
		.iterations = activation->iterations,
		.dead_tokens = activation->dead_tokens,
		.saves = activation->saves,
		.peak_frames = activation->peak_frames,
		.groups = activation->program->groups,
		.grouped = activation->program->grouped,
	};
	activation->dead_tokens = activation->iterations = activation->saves = 0;
	activation->peak_frames = 0;
	activation->live = 0;
	activation->next = program->idle;
	program->idle = activation;
	pthread_mutex_unlock(&plan->lock);
}

static bool is_for(const struct program *program, const struct dfg_tensor *feeds)
{
	for (uint32_t i = 0; program->feed && i < program->plan->step.n_feed; i++)
		if (!dfg_shape_equal(&program->feed[i], &feeds[i].shape))
			return false;
	return true;
}

/* Limit of specialised programs: feeds of further shapes use the last program, which is for any shape. */
enum { PROGRAMS_MAX = 64 };

static struct dfg_err *find_program(struct dfg_plan *plan, const struct dfg_tensor *feeds, struct program **out_program)
{
	struct program *program = plan->programs;
	while (program->next && !is_for(program, feeds))
		program = program->next;
	*out_program = program;
	if (program->next || program->feed || plan->sized || plan->n_programs >= PROGRAMS_MAX)
		return NULL;
	DFG_TRY(dfg_program_make(plan, feeds, &program));
	program->next = plan->programs;
	plan->programs = *out_program = program;
	plan->n_programs++;
	return NULL;
}

struct dfg_err *dfg_programs_begin(struct dfg_plan *plan)
{
	plan->sized = true;
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		plan->sized &= dfg_shape_known(&plan->feed[i].shape);
	return dfg_program_make(plan, NULL, &plan->programs);
}

void dfg_programs_free(struct dfg_plan *plan)
{
	while (plan->programs) {
		struct program *program = plan->programs;
		plan->programs = program->next;
		dfg_program_free(program);
	}
}

/* With the plan's lock held. */
static struct dfg_err *take_activation(
	struct dfg_plan *plan, const struct dfg_tensor *feeds, struct activation **out_activation)
{
	struct program *program;
	DFG_TRY(find_program(plan, feeds, &program));
	struct activation *activation = *out_activation = program->idle;
	if (!activation)
		return new_activation(program, out_activation);
	program->idle = activation->next;
	return NULL;
}

struct dfg_err *dfg_linear_run(struct dfg_plan *plan, const struct dfg_tensor *feeds,
	const struct dfg_step_control *control, struct dfg_tensor *out_fetches)
{
	struct activation *activation;
	pthread_mutex_lock(&plan->lock);
	struct dfg_err *err = take_activation(plan, feeds, &activation);
	pthread_mutex_unlock(&plan->lock);
	if (err)
		return err;
	activation->before = dfg_buffer_pool_mark(plan->session->buffers);
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		activation->tensor[plan->first_feed + i] = feeds[i];
	for (uint32_t i = 0; i < activation->program->n_fed; i++)
		activation->data[activation->program->fed[i]] =
			feeds[activation->program->use[activation->program->fed[i]] - plan->first_feed].data;
	dfg_watch_begin(&activation->watch, &plan->session->options, control);
	err = dfg_interpret(activation);
	if (!err)
		err = give_fetches(activation, out_fetches);
	reset_activation(activation, err);
	return_activation(activation, activation->program);
	return err;
}
