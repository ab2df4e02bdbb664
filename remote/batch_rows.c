#include "remote/batch_rows.h"

#include <string.h>

/* The encoding of a feed in a packet. */
enum { ELEMENTS, ROWS_FROM, ROWS_LISTED };

static void release(struct dfg_buffer *buffer)
{
	struct dfg_rows *rows = (struct dfg_rows *)buffer;
	dfg_tensor_release(&rows->order);
	dfg_free(rows);
}

static struct dfg_err *copy_order(const int64_t *order, int64_t n, struct dfg_tensor *out_order)
{
	if (!order)
		return NULL;
	DFG_TRY(dfg_tensor_new(DFG_I64, &DFG_SHAPE_VECTOR(n), out_order));
	if (n)
		memcpy(out_order->data, order, (size_t)n * sizeof *order);
	return NULL;
}

struct dfg_err *dfg_rows_new(const struct dfg_samples *like, uint32_t source, int64_t first, const int64_t *order,
	int64_t n, struct dfg_tensor *batch)
{
	struct dfg_rows *rows = dfg_zeros(1, sizeof *rows);
	if (!rows)
		return dfg_no_memory("the rows of a batch");
	*rows = (struct dfg_rows){.source = source, .first = first};
	atomic_init(&rows->buffer.refs, 1);
	rows->buffer.holds = DFG_U8;
	rows->buffer.release = release;
	struct dfg_err *err = copy_order(order, n, &rows->order);
	if (err) {
		dfg_free(rows);
		return err;
	}
	dfg_tensor_release(batch);
	*batch = (struct dfg_tensor){.dtype = like->dtype, .shape = like->shape, .data = rows, .buffer = &rows->buffer};
	batch->shape.dim[0] = n;
	return NULL;
}

const struct dfg_rows *dfg_rows_of(const struct dfg_tensor *tensor)
{
	const struct dfg_buffer *buffer = tensor->buffer;
	return buffer && buffer->release == release ? (const struct dfg_rows *)buffer : NULL;
}

void dfg_rows_set_copies(struct dfg_tensor *batch, const uint32_t *copies)
{
	((struct dfg_rows *)batch->buffer)->copies = copies;
}

/* The number of rows of the batch before those of a view. */
static int64_t rows_before(const struct dfg_rows *rows, const struct dfg_tensor *feed)
{
	struct dfg_shape row = feed->shape;
	row.dim[0] = 1;
	size_t bytes = (size_t)dfg_shape_count(&row) * dfg_dtype_size(feed->dtype);
	return bytes ? (int64_t)((size_t)((const char *)feed->data - (const char *)rows) / bytes) : 0;
}

void dfg_rows_put(struct dfg_packet *packet, const struct dfg_tensor *feed, uint32_t worker)
{
	const struct dfg_rows *rows = dfg_rows_of(feed);
	if (!rows) {
		dfg_packet_put(packet, ELEMENTS);
		dfg_packet_put_tensor(packet, feed);
		return;
	}
	dfg_packet_put(packet, rows->order.dtype ? ROWS_LISTED : ROWS_FROM);
	dfg_packet_put(packet, rows->copies ? rows->copies[worker] : rows->source);
	int64_t before = rows_before(rows, feed);
	if (rows->order.dtype) {
		struct dfg_tensor order = rows->order;
		order.data = dfg_tensor_at(&order, before);
		order.shape.dim[0] = feed->shape.dim[0];
		dfg_packet_put_tensor(packet, &order);
		return;
	}
	dfg_packet_put(packet, (uint64_t)(rows->first + before));
	dfg_packet_put(packet, (uint64_t)feed->shape.dim[0]);
}

static struct dfg_err *no_such_rows(uint64_t first, uint64_t n, uint64_t all)
{
	return DFG_ERR(DFG_PROTOCOL,
		"the launcher requests %llu rows, beginning with row %llu, of a file that has %llu rows", (unsigned long long)n,
		(unsigned long long)first, (unsigned long long)all);
}

static struct dfg_err *get_from(
	struct dfg_packet *packet, const struct dfg_batch_source *source, struct dfg_tensor *out_feed)
{
	uint64_t first = dfg_packet_get(packet), n = dfg_packet_get(packet), all = (uint64_t)source->all.shape.dim[0];
	if (first > all || n > all - first)
		return no_such_rows(first, n, all);
	return dfg_samples_take(&source->all, (int64_t)first, NULL, (int64_t)n, out_feed);
}

static struct dfg_err *get_listed(
	struct dfg_packet *packet, struct dfg_batch_source *source, struct dfg_tensor *out_feed)
{
	struct dfg_tensor order;
	dfg_packet_get_tensor(packet, &order);
	int64_t all = source->all.shape.dim[0];
	struct dfg_err *err = NULL;
	if (order.dtype != DFG_I64 || order.shape.rank != 1)
		err = DFG_ERR(DFG_PROTOCOL, "the launcher's list of rows is %s, expected a vector of i64",
			dfg_type_words(order.dtype, &order.shape).s);
	for (int64_t i = 0; !err && i < order.shape.dim[0]; i++)
		if (dfg_tensor_int(&order, i) < 0 || dfg_tensor_int(&order, i) >= all)
			err = no_such_rows((uint64_t)dfg_tensor_int(&order, i), 1, (uint64_t)all);
	if (!err)
		err = dfg_samples_take(&source->all, 0, order.data, order.shape.dim[0], &source->batch);
	dfg_tensor_release(&order);
	return err ? err : dfg_tensor_share(&source->batch, out_feed);
}

struct dfg_err *dfg_rows_get(
	struct dfg_packet *packet, struct dfg_batch_source *source, size_t sources, struct dfg_tensor *out_feed)
{
	uint64_t kind = dfg_packet_get(packet);
	if (kind == ELEMENTS) {
		dfg_packet_get_tensor(packet, out_feed);
		return NULL;
	}
	uint64_t number = dfg_packet_get(packet);
	if (number >= sources || !source[number].all.shape.dim[0] || (kind != ROWS_FROM && kind != ROWS_LISTED))
		return DFG_ERR(DFG_PROTOCOL,
			"the launcher requests rows of file %llu in form %llu: there are %zu files with rows, and the forms are %d "
			"and %d",
			(unsigned long long)number, (unsigned long long)kind, sources, ROWS_FROM, ROWS_LISTED);
	return kind == ROWS_FROM ? get_from(packet, &source[number], out_feed)
							 : get_listed(packet, &source[number], out_feed);
}
