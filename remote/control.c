#include "remote/control.h"

#include "formats/bytes.h"
#include "lib/base/pool.h"

#include <string.h>

enum {
	SMALL = 4096,        /* bytes of the largest tensor in the head */
	MOST_TENSORS = 65536 /* after one head */
};

/* Where a tensor of a packet is: in the head or in a message of its own. */
enum { HERE, BEHIND };

void dfg_packet_release(struct dfg_packet *packet)
{
	for (size_t i = 0; i < packet->tensors; i++)
		dfg_tensor_release(&packet->tensor[i]);
	dfg_free(packet->tensor);
	dfg_free(packet->bytes);
	*packet = (struct dfg_packet){0};
}

static void put_bytes(struct dfg_packet *packet, const void *bytes, size_t count)
{
	if (packet->short_of_memory || !dfg_reserve(&packet->bytes, &packet->capacity, packet->length + count, 1)) {
		packet->short_of_memory = true;
		return;
	}
	if (count)
		memcpy(packet->bytes + packet->length, bytes, count);
	packet->length += count;
}

void dfg_packet_put(struct dfg_packet *packet, uint64_t value)
{
	uint8_t bytes[8];
	dfg_put_le(bytes, value, 8);
	put_bytes(packet, bytes, sizeof bytes);
}

void dfg_packet_put_real(struct dfg_packet *packet, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	dfg_packet_put(packet, bits);
}

void dfg_packet_put_text(struct dfg_packet *packet, const char *text)
{
	size_t length = strlen(text);
	dfg_packet_put(packet, length);
	put_bytes(packet, text, length + 1);
}

void dfg_packet_put_shape(struct dfg_packet *packet, const struct dfg_shape *shape)
{
	dfg_packet_put(packet, (uint64_t)(int64_t)shape->rank);
	for (int i = 0; i < shape->rank; i++)
		dfg_packet_put(packet, (uint64_t)shape->dim[i]);
}

static bool owns_elements(enum dfg_dtype dtype)
{
	return dfg_dtype_is_object(dtype);
}

void dfg_packet_put_tensor(struct dfg_packet *packet, const struct dfg_tensor *tensor)
{
	size_t bytes = dfg_tensor_bytes(tensor);
	if (!owns_elements(tensor->dtype) && bytes <= SMALL) {
		dfg_packet_put(packet, HERE);
		dfg_packet_put(packet, tensor->dtype);
		dfg_packet_put_shape(packet, &tensor->shape);
		put_bytes(packet, tensor->data, bytes);
		return;
	}
	struct dfg_tensor *to = NULL;
	if (dfg_reserve(&packet->tensor, &packet->tensor_capacity, packet->tensors + 1, sizeof *packet->tensor))
		to = &packet->tensor[packet->tensors];
	struct dfg_err *err = to ? dfg_tensor_share(tensor, to) : NULL;
	packet->short_of_memory |= !to || err;
	dfg_err_free(err);
	dfg_packet_put(packet, BEHIND);
	dfg_packet_put(packet, packet->tensors);
	packet->tensors += to && !err;
}

void dfg_packet_put_fields(struct dfg_packet *packet, const struct dfg_packet *from)
{
	packet->short_of_memory |= from->short_of_memory;
	put_bytes(packet, from->bytes, from->length);
}

void dfg_packet_put_error(struct dfg_packet *packet, const struct dfg_err *err)
{
	uint64_t lines = 0;
	dfg_packet_put(packet, err ? err->code : 0);
	for (const struct dfg_err *e = err; e; e = e->next)
		lines++;
	if (err)
		dfg_packet_put(packet, lines);
	for (const struct dfg_err *e = err; e; e = e->next) {
		dfg_packet_put(packet, e->waited);
		dfg_packet_put_text(packet, e->text);
	}
}

/* The next count bytes; NULL where the packet has fewer. */
static const uint8_t *get_bytes(struct dfg_packet *packet, uint64_t count)
{
	if (packet->malformed || count > packet->length - packet->at) {
		packet->malformed = true;
		return NULL;
	}
	packet->at += count;
	return packet->bytes + packet->at - count;
}

uint64_t dfg_packet_get(struct dfg_packet *packet)
{
	const uint8_t *bytes = get_bytes(packet, 8);
	return bytes ? dfg_le64(bytes) : 0;
}

uint64_t dfg_packet_get_below(struct dfg_packet *packet, uint64_t limit)
{
	uint64_t value = dfg_packet_get(packet);
	packet->malformed |= value >= limit;
	return value < limit ? value : 0;
}

double dfg_packet_get_real(struct dfg_packet *packet)
{
	uint64_t bits = dfg_packet_get(packet);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

const char *dfg_packet_get_text(struct dfg_packet *packet)
{
	uint64_t length = dfg_packet_get(packet);
	const uint8_t *bytes = length < packet->length ? get_bytes(packet, length + 1) : NULL;
	if (bytes && memchr(bytes, 0, length + 1) == bytes + length)
		return (const char *)bytes;
	packet->malformed = true;
	return "";
}

void dfg_packet_get_shape(struct dfg_packet *packet, struct dfg_shape *out_shape)
{
	int64_t rank = (int64_t)dfg_packet_get(packet);
	*out_shape = DFG_SHAPE_UNKNOWN;
	if (rank < DFG_UNKNOWN || rank > DFG_RANK_MAX) {
		packet->malformed = true;
		return;
	}
	out_shape->rank = (int)rank;
	for (int i = 0; i < rank; i++)
		if ((out_shape->dim[i] = (int64_t)dfg_packet_get(packet)) < DFG_UNKNOWN)
			packet->malformed = true;
}

static void get_here(struct dfg_packet *packet, struct dfg_tensor *out_tensor)
{
	struct dfg_shape shape;
	uint64_t dtype = dfg_packet_get(packet);
	size_t bytes = 0;
	dfg_packet_get_shape(packet, &shape);
	bool known = dtype < DFG_DTYPES && dtype && !owns_elements((enum dfg_dtype)dtype) && dfg_shape_known(&shape);
	struct dfg_err *err = known ? dfg_shape_bytes(&shape, (enum dfg_dtype)dtype, &bytes) : NULL;
	const uint8_t *from = known && !err ? get_bytes(packet, bytes) : NULL;
	dfg_err_free(err);
	if (!from) {
		packet->malformed = true;
		return;
	}
	err = dfg_tensor_new((enum dfg_dtype)dtype, &shape, out_tensor);
	if (err)
		packet->short_of_memory = true;
	else if (bytes)
		memcpy(out_tensor->data, from, bytes);
	dfg_err_free(err);
}

void dfg_packet_get_tensor(struct dfg_packet *packet, struct dfg_tensor *out_tensor)
{
	*out_tensor = (struct dfg_tensor){0};
	uint64_t where = dfg_packet_get(packet);
	if (where == HERE) {
		get_here(packet, out_tensor);
		return;
	}
	uint64_t number = dfg_packet_get(packet);
	if (where != BEHIND || number >= packet->tensors || !packet->tensor[number].dtype) {
		packet->malformed = true;
		return;
	}
	struct dfg_err *err = dfg_tensor_share(&packet->tensor[number], out_tensor);
	packet->short_of_memory |= err != NULL;
	dfg_err_free(err);
}

static bool is_code(uint64_t code)
{
#define CODE(name, status, text) || code == (status)
	return false
#include "lib/base/code.def"
		;
#undef CODE
}

struct dfg_err *dfg_packet_get_error(struct dfg_packet *packet)
{
	uint64_t code = dfg_packet_get(packet);
	struct dfg_err *err = NULL;
	if (!code)
		return dfg_packet_check(packet);
	if (!is_code(code))
		return DFG_ERR(DFG_PROTOCOL, "a message reports an error with the unknown code %llu", (unsigned long long)code);
	uint32_t lines = dfg_packet_get_count(packet, 2 * sizeof(uint64_t) + 1);
	for (uint32_t i = 0; i < lines; i++) {
		bool waited = dfg_packet_get_bool(packet);
		struct dfg_err *line = DFG_ERR((enum dfg_code)code, "%s", dfg_packet_get_text(packet));
		err = dfg_err_join(err, waited ? dfg_err_that_waited(line) : line);
	}
	return dfg_err_join(err, lines ? dfg_packet_check(packet) : DFG_ERR((enum dfg_code)code, "failed"));
}

uint32_t dfg_packet_get_count(struct dfg_packet *packet, size_t bytes_each)
{
	uint64_t count = dfg_packet_get(packet);
	if (count <= (packet->length - packet->at) / bytes_each && count < UINT32_MAX)
		return (uint32_t)count;
	packet->malformed = true;
	return 0;
}

struct dfg_err *dfg_packet_check(const struct dfg_packet *packet)
{
	if (packet->short_of_memory)
		return dfg_no_memory("a request");
	return packet->malformed ? DFG_ERR(DFG_PROTOCOL, "a message is malformed") : NULL;
}

static struct dfg_err *send_head(const struct dfg_packet *packet, struct dfg_link *link)
{
	struct dfg_message message = {
		.kind = DFG_MESSAGE_CONTROL, .key = {packet->number, packet->kind, 1, {(int64_t)packet->tensors}}};
	DFG_TRY(dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR((int64_t)packet->length), &message.tensor));
	if (packet->length)
		memcpy(message.tensor.data, packet->bytes, packet->length);
	struct dfg_err *err = link->kind->send(link, &message);
	dfg_tensor_release(&message.tensor);
	return err;
}

struct dfg_err *dfg_packet_send(struct dfg_packet *packet, struct dfg_link *link)
{
	struct dfg_err *err = dfg_packet_check(packet);
	if (!err)
		err = send_head(packet, link);
	for (size_t i = 0; i < packet->tensors && !err; i++) {
		struct dfg_message message = {.kind = DFG_MESSAGE_CONTROL,
			.key = {packet->number, DFG_PACKET_TENSOR, 1, {(int64_t)i}},
			.tensor = packet->tensor[i]};
		err = link->kind->send(link, &message);
	}
	dfg_packet_release(packet);
	return err;
}

struct dfg_err *dfg_inbox_init(struct dfg_inbox *inbox, struct dfg_event *event)
{
	*inbox = (struct dfg_inbox){.event = event};
	inbox->last = &inbox->whole;
	return pthread_mutex_init(&inbox->lock, NULL) ? dfg_no_memory("a request") : NULL;
}

static void free_list(struct dfg_packet *packet)
{
	for (struct dfg_packet *next; packet; packet = next) {
		next = packet->next;
		dfg_packet_release(packet);
		dfg_free(packet);
	}
}

void dfg_inbox_release(struct dfg_inbox *inbox)
{
	if (!inbox->last)
		return;
	free_list(inbox->whole);
	free_list(inbox->parts);
	pthread_mutex_destroy(&inbox->lock);
	*inbox = (struct dfg_inbox){0};
}

/* The link of the list at which the message's packet is, or will be added. */
static struct dfg_packet **place_of(struct dfg_inbox *inbox, uint32_t peer, uint64_t number)
{
	struct dfg_packet **at = &inbox->parts;
	while (*at && ((*at)->peer != peer || (*at)->number != number))
		at = &(*at)->next;
	return at;
}

static struct dfg_err *malformed(uint32_t peer)
{
	const char *who = peer == DFG_LAUNCHER ? "the launcher" : "a worker";
	return DFG_ERR(DFG_PROTOCOL, "%s sent a malformed message", who);
}

static struct dfg_err *add_head(struct dfg_packet *packet, const struct dfg_message *message)
{
	int64_t due = message->key.iteration[0];
	size_t length = message->tensor.dtype == DFG_U8 ? dfg_tensor_bytes(&message->tensor) : 0;
	bool plain = message->tensor.dtype == DFG_U8 || !message->tensor.dtype;
	if (packet->headed || !plain || due < 0 || due > MOST_TENSORS || (size_t)due < packet->tensors)
		return malformed(packet->peer);
	packet->kind = (enum dfg_packet_kind)message->key.number;
	packet->due = (size_t)due;
	packet->headed = true;
	put_bytes(packet, message->tensor.data, length);
	return packet->short_of_memory ? dfg_packet_check(packet) : NULL;
}

struct dfg_err *dfg_packet_of(uint32_t peer, const struct dfg_message *message, struct dfg_packet *out_packet)
{
	*out_packet = (struct dfg_packet){.peer = peer, .number = message->key.step};
	struct dfg_err *err = message->key.depth == 1 ? add_head(out_packet, message) : malformed(peer);
	if (!err && out_packet->due)
		err = malformed(peer);
	if (err)
		dfg_packet_release(out_packet);
	return err;
}

static struct dfg_err *add_tensor(struct dfg_packet *packet, struct dfg_message *message)
{
	int64_t number = message->key.iteration[0];
	if (number < 0 || number >= MOST_TENSORS || (packet->headed && (size_t)number >= packet->due) ||
		!message->tensor.dtype)
		return malformed(packet->peer);
	if (!dfg_reserve(&packet->tensor, &packet->tensor_capacity, (size_t)number + 1, sizeof *packet->tensor))
		return dfg_no_memory("a request");
	if (packet->tensors <= (size_t)number)
		packet->tensors = (size_t)number + 1;
	if (packet->tensor[number].dtype)
		return malformed(packet->peer);
	packet->tensor[number] = message->tensor;
	message->tensor = (struct dfg_tensor){0};
	packet->came++;
	return NULL;
}

static struct dfg_err *deliver(struct dfg_inbox *inbox, uint32_t peer, struct dfg_message *message)
{
	struct dfg_packet **at = place_of(inbox, peer, message->key.step);
	if (!*at && !(*at = dfg_zeros(1, sizeof **at)))
		return dfg_no_memory("a request");
	struct dfg_packet *packet = *at;
	packet->peer = peer;
	packet->number = message->key.step;
	bool head = message->key.number != DFG_PACKET_TENSOR;
	DFG_TRY(head ? add_head(packet, message) : add_tensor(packet, message));
	if (!packet->headed || packet->came < packet->due)
		return NULL;
	*at = packet->next;
	packet->next = NULL;
	*inbox->last = packet;
	inbox->last = &packet->next;
	return NULL;
}

struct dfg_err *dfg_inbox_deliver(struct dfg_inbox *inbox, uint32_t peer, struct dfg_message *message)
{
	struct dfg_err *err = NULL;
	if (message->key.depth != 1)
		err = malformed(peer);
	pthread_mutex_lock(&inbox->lock);
	if (!err)
		err = deliver(inbox, peer, message);
	pthread_mutex_unlock(&inbox->lock);
	dfg_tensor_release(&message->tensor);
	dfg_event_signal(inbox->event);
	return err;
}

bool dfg_inbox_take(struct dfg_inbox *inbox, struct dfg_packet *out_packet)
{
	pthread_mutex_lock(&inbox->lock);
	struct dfg_packet *packet = inbox->whole;
	if (packet && !(inbox->whole = packet->next))
		inbox->last = &inbox->whole;
	pthread_mutex_unlock(&inbox->lock);
	if (!packet)
		return false;
	*out_packet = *packet;
	out_packet->next = NULL;
	dfg_free(packet);
	return true;
}

/*
 * Polling is for two processes that run at once. After several polls that found nothing, it may only keep the other
 * from its processor.
 */
bool dfg_poll_awhile(
	struct dfg_link *const *links, uint32_t count, const struct dfg_event *event, uint32_t seen, unsigned *in_vain)
{
	enum { KEEN_NS = 30000, TRIES = 3, REST = 32 };
	uint64_t keen = *in_vain < TRIES || *in_vain % REST == 0 ? KEEN_NS : 0, began = dfg_now();
	do {
		bool any = atomic_load(&event->word) != seen;
		for (uint32_t i = 0; i < count && !any; i++)
			any = links[i]->kind->poll(links[i]);
		if (any && keen)
			*in_vain = 0;
		if (any)
			return true;
	} while (dfg_now() - began < keen);
	++*in_vain;
	for (uint32_t i = 0; i < count; i++)
		if (links[i]->kind->idle)
			links[i]->kind->idle(links[i]);
	return false;
}
