#include "remote/send_queue.h"

#include "formats/bytes.h"
#include "lib/base/crc32c.h"

#include <string.h>

struct dfg_send_queue_item {
	struct dfg_send_queue_item *next;
	struct dfg_message message;
	uint8_t *packed; /* strings in the wire format; owned */
	const uint8_t *bytes;
	size_t count, done;
};

static void free_item(struct dfg_send_queue_item *item)
{
	if (!item)
		return;
	dfg_tensor_release(&item->message.tensor);
	dfg_free(item->packed);
	dfg_free(item);
}

static void push_item(struct dfg_send_queue_queue *queue, struct dfg_send_queue_item *item)
{
	*queue->end = item;
	queue->end = &item->next;
}

static struct dfg_send_queue_item *pop(struct dfg_send_queue_queue *queue)
{
	struct dfg_send_queue_item *item = queue->first;
	if (item && !(queue->first = item->next))
		queue->end = &queue->first;
	return item;
}

struct dfg_err *dfg_send_queue_init(struct dfg_send_queue *queue)
{
	*queue = (struct dfg_send_queue){.credit = DFG_CREDIT};
	queue->small.end = &queue->small.first;
	queue->large.end = &queue->large.first;
	return pthread_mutex_init(&queue->lock, NULL) ? dfg_no_memory("a message to send") : NULL;
}

void dfg_send_queue_release(struct dfg_send_queue *queue)
{
	if (!queue->small.end)
		return;
	if (queue->item != queue->whole)
		free_item(queue->item);
	free_item(queue->whole);
	for (struct dfg_send_queue_item *item; (item = pop(&queue->small));)
		free_item(item);
	for (struct dfg_send_queue_item *item; (item = pop(&queue->large));)
		free_item(item);
	pthread_mutex_destroy(&queue->lock);
	*queue = (struct dfg_send_queue){0};
}

static struct dfg_err *fill_item(struct dfg_send_queue_item *item, const struct dfg_message *message)
{
	item->message = *message;
	item->message.tensor = (struct dfg_tensor){0};
	if (!message->tensor.dtype || message->dead)
		return NULL;
	DFG_TRY(dfg_tensor_share(&message->tensor, &item->message.tensor));
	item->bytes = item->message.tensor.data;
	item->count = dfg_tensor_bytes(&item->message.tensor);
	if (message->tensor.dtype != DFG_STRING)
		return NULL;
	item->count = dfg_strings_size(&item->message.tensor);
	if (!(item->packed = dfg_mem->take(dfg_mem, item->count ? item->count : 1, 8)))
		return DFG_ERR(DFG_MEMORY, "no memory for strings of %zu bytes", item->count);
	dfg_strings_pack(&item->message.tensor, item->packed);
	item->bytes = item->packed;
	return NULL;
}

static bool same_key(const struct dfg_message *a, const struct dfg_message *b)
{
	return a->kind == b->kind &&
		   (a->kind == DFG_MESSAGE_CONTROL ||
			   (a->key.step == b->key.step && a->key.number == b->key.number && a->key.depth == b->key.depth &&
				   !memcmp(a->key.iteration, b->key.iteration, a->key.depth * sizeof *a->key.iteration)));
}

/* Whether the message must not overtake a large one; those are few. The caller holds the lock. */
static bool goes_behind(const struct dfg_send_queue *queue, const struct dfg_send_queue_item *item)
{
	if (queue->whole && same_key(&queue->whole->message, &item->message))
		return true;
	for (const struct dfg_send_queue_item *large = queue->large.first; large; large = large->next)
		if (same_key(&large->message, &item->message))
			return true;
	return false;
}

struct dfg_err *dfg_send_queue_put(struct dfg_send_queue *queue, const struct dfg_message *message)
{
	DFG_TRY(dfg_message_check(message));
	struct dfg_send_queue_item *item = dfg_zeros(1, sizeof *item);
	if (!item)
		return dfg_no_memory("a message to send");
	struct dfg_err *err = fill_item(item, message);
	if (err) {
		free_item(item);
		return err;
	}
	pthread_mutex_lock(&queue->lock);
	bool large = item->count > DFG_LINK_FRAME_MOST - DFG_HEAD_MOST || goes_behind(queue, item);
	push_item(large ? &queue->large : &queue->small, item);
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

void dfg_send_queue_credit(struct dfg_send_queue *queue, uint64_t credit)
{
	pthread_mutex_lock(&queue->lock);
	if (credit > queue->credit)
		queue->credit = credit;
	pthread_mutex_unlock(&queue->lock);
}

void dfg_send_queue_grant(struct dfg_send_queue *queue, uint64_t granted)
{
	pthread_mutex_lock(&queue->lock);
	queue->granted = granted;
	queue->tell = true;
	pthread_mutex_unlock(&queue->lock);
}

/* Begins a frame: its header and the bytes before those in `body`. */
static void begin(
	struct dfg_send_queue *queue, enum dfg_link_frame_kind kind, size_t front, const uint8_t *body, size_t count)
{
	struct dfg_link_frame frame = {.length = (uint32_t)(front + count), .kind = kind, .number = queue->frames++};
	dfg_link_frame_put(queue->front, &frame);
	queue->front_length = DFG_LINK_FRAME_HEADER + front;
	queue->front_done = 0;
	queue->body = body;
	queue->body_left = count;
	queue->crc = dfg_crc32c(0, queue->front, queue->front_length);
	queue->tail_left = DFG_LINK_FRAME_TAIL;
	if (kind != DFG_LINK_FRAME_CREDIT)
		queue->used += frame.length;
}

static void begin_message(struct dfg_send_queue *queue, struct dfg_send_queue_item *item)
{
	size_t head = dfg_head_put(queue->front + DFG_LINK_FRAME_HEADER, &item->message, item->count);
	size_t count = item->count < DFG_LINK_FRAME_MOST - head ? item->count : DFG_LINK_FRAME_MOST - head;
	begin(queue, DFG_LINK_FRAME_MESSAGE, head, item->bytes, count);
	item->done = count;
	queue->item = item;
}

static void begin_more(struct dfg_send_queue *queue, struct dfg_send_queue_item *item)
{
	size_t left = item->count - item->done;
	size_t count = left < DFG_LINK_FRAME_MOST ? left : DFG_LINK_FRAME_MOST;
	begin(queue, DFG_LINK_FRAME_MORE, 0, item->bytes + item->done, count);
	item->done += count;
	queue->item = item;
}

/* Begins the next frame; false where there is none, or no credit for it. */
static bool begin_next(struct dfg_send_queue *queue)
{
	struct dfg_send_queue_item *item = NULL;
	pthread_mutex_lock(&queue->lock);
	uint64_t granted = queue->granted;
	bool tell = queue->tell, credit = queue->used + DFG_LINK_FRAME_MOST <= queue->credit;
	queue->tell = false;
	if (!tell && credit && !(item = pop(&queue->small)) && !queue->whole)
		item = queue->whole = pop(&queue->large);
	pthread_mutex_unlock(&queue->lock);
	if (tell) {
		dfg_put_le(queue->front + DFG_LINK_FRAME_HEADER, granted, 8);
		begin(queue, DFG_LINK_FRAME_CREDIT, 8, NULL, 0);
	} else if (item) {
		begin_message(queue, item);
	} else if (credit && queue->whole) {
		begin_more(queue, queue->whole);
	}
	return queue->tail_left;
}

static void end_frame(struct dfg_send_queue *queue)
{
	struct dfg_send_queue_item *item = queue->item;
	queue->item = NULL;
	if (!item || item->done < item->count)
		return;
	pthread_mutex_lock(&queue->lock);
	if (item == queue->whole)
		queue->whole = NULL;
	pthread_mutex_unlock(&queue->lock);
	free_item(item);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Writes as many bytes of the frame as fit. */
static size_t pull_frame(struct dfg_send_queue *queue, uint8_t *to, size_t capacity)
{
	size_t front = least(queue->front_length - queue->front_done, capacity);
	memcpy(to, queue->front + queue->front_done, front);
	queue->front_done += front;
	size_t body = least(queue->body_left, capacity - front);
	if (body) {
		memcpy(to + front, queue->body, body);
		queue->crc = dfg_crc32c(queue->crc, to + front, body);
		queue->body += body;
		queue->body_left -= body;
	}
	size_t done = front + body;
	for (; done < capacity && queue->tail_left; queue->tail_left--)
		to[done++] = (uint8_t)(queue->crc >> 8 * (DFG_LINK_FRAME_TAIL - queue->tail_left));
	if (!queue->tail_left)
		end_frame(queue);
	return done;
}

size_t dfg_send_queue_pull(struct dfg_send_queue *queue, uint8_t *to, size_t capacity)
{
	size_t done = 0;
	while (done < capacity && (queue->tail_left || begin_next(queue)))
		done += pull_frame(queue, to + done, capacity - done);
	return done;
}
