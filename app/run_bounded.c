#include "app/run_data_private.h"
#include "lib/base/pool.h"

/*
 * Steps with bounded staleness, of the whole batch: each shard is an update by itself. The order of the updates is the only
 * thing that depends on time: as soon as one is applied, all shards that may begin a step do so, in ascending order.
 */

/* The waits of a shard for the slowest one. */
static void note_wait(struct training *t, uint32_t shard, bool waits)
{
	struct dfg_staleness *staleness = &t->run->staleness;
	uint64_t since = t->blocked_ns[shard], now = waits && since ? since : dfg_now();
	if (!waits && since)
		staleness->waited_ns += now - since;
	staleness->waits += waits && !since;
	t->blocked_ns[shard] = waits ? now : 0;
}

static struct dfg_err *note_read(struct training *t, uint64_t lag)
{
	struct dfg_staleness *staleness = &t->run->staleness;
	if (!dfg_reserve(&staleness->lag, &staleness->lag_capacity, (size_t)lag + 1, sizeof *staleness->lag))
		return dfg_no_memory("the histogram of staleness");
	while (staleness->lags <= lag)
		staleness->lag[staleness->lags++] = 0;
	staleness->lag[lag]++;
	return NULL;
}

/* Begins the next step of a shard, whose rows are counted from sample `first` of the batch. */
static struct dfg_err *start_rows(struct training *t, const struct dfg_shard *rows, int64_t first)
{
	struct dfg_record *record = &t->run->record;
	uint64_t lag;
	if (rows->rows)
		DFG_TRY(dfg_dataset_batch(&t->dataset, first + rows->first, rows->rows, t->feeds.value + t->first_batch));
	DFG_TRY(dfg_training_of_step(t, dfg_plan_start_shard(t->plan, rows, t->feeds.value, &lag)));
	t->read[rows->number] = record->step;
	if (!rows->rows) {
		record->step++;
		return NULL;
	}
	t->computing++;
	return note_read(t, lag);
}

/* Whether a shard must not read the variables yet, because it read them after more updates in the run that is replayed. */
static bool reads_later(struct training *t, const struct dfg_shard *rows)
{
	return rows->rows && dfg_record_read_of(&t->run->record, rows->number) > t->run->record.step;
}

/* Begins the next step of a shard, if that may be now. */
static struct dfg_err *start_shard(struct training *t, uint32_t shard, bool stops, bool *out_started)
{
	uint64_t clock;
	enum dfg_shard_state state = dfg_plan_shard(t->plan, shard, &clock);
	uint64_t ahead = clock - (t->at.step - t->begun);
	bool leads = ahead == t->flying; /* no shard has begun that step */
	int64_t first = (int64_t)t->at.sample + (int64_t)ahead * t->batch, n = dfg_training_batch_at(t, first);
	note_wait(t, shard, state == DFG_SHARD_WAITS);
	*out_started = false;
	if (state != DFG_SHARD_READY || (leads && (stops || dfg_training_is_boundary(t))))
		return NULL;
	const struct dfg_shard rows = dfg_shard_of(shard, t->bounded, n);
	if (reads_later(t, &rows))
		return NULL;
	t->next += leads ? n : 0;
	t->flying += leads;
	*out_started = true;
	return start_rows(t, &rows, first);
}

static struct dfg_err *finish_shard(struct training *t)
{
	struct dfg_record *record = &t->run->record;
	uint32_t wanted, shard;
	uint64_t read;
	record->step++;
	DFG_TRY(dfg_record_next(record, t->bounded, &wanted, &read));
	DFG_TRY(dfg_training_of_step(t, dfg_plan_finish_shard(t->plan, t->feeds.value, wanted, &shard)));
	if (wanted != DFG_NONE && t->read[shard] != read)
		return dfg_training_of_step(t,
			DFG_ERR(DFG_DATA,
				"update %llu read the variables after update %llu, but after %llu in the record: the recorded run had "
				"another staleness bound, or checkpoints or evaluations at other steps",
				(unsigned long long)record->step, (unsigned long long)t->read[shard], (unsigned long long)read));
	t->computing--;
	return dfg_record_put(record, t->bounded, shard, t->read[shard]);
}

/* The steps that all shards have done. */
static struct dfg_err *take_steps(struct training *t)
{
	while (t->flying && dfg_plan_has_step(t->plan)) {
		dfg_training_release(t);
		DFG_TRY(dfg_training_of_step(t, dfg_plan_take_step(t->plan, t->value)));
		t->at.sample += (uint64_t)dfg_training_batch_at(t, (int64_t)t->at.sample);
		t->at.step++;
		t->flying--;
		DFG_TRY(dfg_metrics_step(&t->metrics, t->at.step, t->at.epoch, &t->fetch, t->value));
		dfg_training_tell(t, t->at.epoch);
		if (t->flying)
			continue;
		DFG_TRY(dfg_training_after_step(t));
		t->next = (int64_t)t->at.sample;
	}
	return NULL;
}

/* Steps of the whole batch, each shard of which is an update. Those in progress end before what may follow a step. */
struct dfg_err *dfg_training_bounded(struct training *t)
{
	t->next = (int64_t)t->at.sample;
	while (!dfg_training_is_over(t)) {
		bool stops = t->watch->stop(t->watch->arg) != NULL, any = false;
		for (uint32_t shard = 0; shard < t->bounded; shard++) {
			bool started;
			DFG_TRY(start_shard(t, shard, stops, &started));
			any |= started;
		}
		if (!t->computing && !any && stops)
			break;
		if (t->computing || !any) /* an error if none computes: the record that is replayed is of another run */
			DFG_TRY(finish_shard(t));
		DFG_TRY(take_steps(t));
	}
	return NULL;
}
