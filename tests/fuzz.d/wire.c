#include "tests/fuzz.d/targets.h"

#include "formats/kserve.h"
#include "formats/predict.h"
#include "lib/base/pool.h"
#include "remote/message_decoder.h"
#include "remote/web/http1.h"
#include "remote/worker_config.h"

#include <string.h>

enum { LIMIT = 1 << 20 /* bytes of a tensor */, PEER = 1 };

/* Collects control messages into packets, as a worker does. */
static void deliver(void *arg, struct dfg_message *message)
{
	struct dfg_inbox *inbox = arg;
	if (message->kind == DFG_MESSAGE_CONTROL)
		dfg_fuzz_end(dfg_inbox_deliver(inbox, PEER, message));
	else
		dfg_tensor_release(&message->tensor);
}

static void ignore_credit(void *arg, uint64_t credit)
{
	(void)arg;
	(void)credit;
}

/* Reads a packet as each kind of it is read. */
static void read_fields(struct dfg_packet *packet)
{
	struct dfg_arena arena = {0};
	struct dfg_worker_config config;
	struct dfg_shape shape;
	struct dfg_tensor tensor = {0};
	const size_t at = packet->at;
	dfg_fuzz_end(dfg_worker_config_get(packet, &arena, &config));
	packet->at = at, packet->malformed = false;
	dfg_err_free(dfg_packet_get_error(packet)); /* of any code: a fault of the library may be the peer's */
	packet->at = at, packet->malformed = false;
	for (uint32_t n = dfg_packet_get_count(packet, 8); n && !packet->malformed; n--) {
		(void)dfg_packet_get_text(packet);
		dfg_packet_get_shape(packet, &shape);
		dfg_packet_get_tensor(packet, &tensor);
		dfg_tensor_release(&tensor);
		(void)dfg_packet_get_bool(packet);
		(void)dfg_packet_get_real(packet);
	}
	dfg_fuzz_end(dfg_packet_check(packet));
	dfg_arena_release(&arena);
}

/* A stream of a link, in pieces of different lengths. */
void dfg_fuzz_frames(const uint8_t *bytes, size_t size)
{
	struct dfg_event event = {0};
	struct dfg_inbox inbox;
	struct dfg_packet packet;
	dfg_fuzz_end(dfg_inbox_init(&inbox, &event));
	struct dfg_message_decoder decoder = {
		.limit = LIMIT, .message = deliver, .credit = ignore_credit, .credit_given = UINT64_MAX / 2, .arg = &inbox};
	struct dfg_err *err = NULL;
	for (size_t at = 0, n; !err && at < size; at += n) {
		n = 1 + bytes[at] % 97u < size - at ? 1 + bytes[at] % 97u : size - at;
		err = dfg_message_decoder_push(&decoder, bytes + at, n);
	}
	dfg_fuzz_end(err);
	dfg_message_decoder_release(&decoder);
	while (dfg_inbox_take(&inbox, &packet)) {
		read_fields(&packet);
		dfg_packet_release(&packet);
	}
	dfg_inbox_release(&inbox);
}

/* The head of a packet. */
void dfg_fuzz_packets(const uint8_t *bytes, size_t size)
{
	struct dfg_packet packet;
	struct dfg_message message = {.kind = DFG_MESSAGE_CONTROL, .key = {1, DFG_PACKET_SETUP, 1, {0}}};
	struct dfg_err *err = dfg_tensor_new(DFG_U8, &DFG_SHAPE_VECTOR((int64_t)size), &message.tensor);
	if (!err && size)
		memcpy(message.tensor.data, bytes, size);
	if (!err)
		err = dfg_packet_of(PEER, &message, &packet);
	if (!err) {
		read_fields(&packet);
		dfg_packet_release(&packet);
	}
	dfg_fuzz_end(err);
	dfg_tensor_release(&message.tensor);
}

/* The chunks of a body give the same bytes in one piece and byte by byte. */
static void read_chunks(const uint8_t *bytes, size_t size)
{
	size_t total[2] = {0, 0};
	bool end[2] = {false, false}, right[2] = {true, true};
	for (int pass = 0; pass < 2; pass++) {
		struct dfg_http1_chunks chunks = {0};
		for (size_t at = 0, used, count; at < size && right[pass] && !end[pass]; at += used) {
			const uint8_t *data;
			const size_t n = pass ? 1 : size - at;
			right[pass] = dfg_http1_chunk(&chunks, bytes + at, n, &used, &data, &count, &end[pass]);
			dfg_fuzz_require(!right[pass] || (used <= n && count <= used), "a chunk lies in the bytes");
			total[pass] += right[pass] ? count : 0;
			if (right[pass] && !used && !end[pass])
				break;
		}
	}
	dfg_fuzz_require(right[0] == right[1] && end[0] == end[1] && (!right[0] || total[0] == total[1]),
		"a chunked body does not depend on its pieces");
}

void dfg_fuzz_http1(const uint8_t *bytes, size_t size)
{
	enum { MOST = 1 << 16 };
	static char copy[MOST];
	struct dfg_http1_head head;
	const char *why = NULL;
	if (size > MOST)
		return;
	memcpy(copy, bytes, size);
	const size_t length = dfg_http1_head_size(copy, size, 0);
	dfg_fuzz_require(length <= size, "a head lies in the bytes");
	if (length) {
		const int status = dfg_http1_parse(copy, length, &head, &why);
		dfg_fuzz_require(!status == !why || !status, "a refusal has a reason");
		for (unsigned i = 0; !status && i < head.fields; i++)
			dfg_fuzz_require(!strpbrk(head.field[i].value, "\r\n"), "a field is one line");
	}
	read_chunks(bytes + length, size - length);
}

void dfg_fuzz_kserve(const uint8_t *bytes, size_t size)
{
	struct dfg_arena arena = {0};
	struct dfg_kserve_model_request model;
	struct dfg_kserve_infer infer;
	dfg_fuzz_end(dfg_kserve_read_model(bytes, size, &arena, &model));
	struct dfg_err *err = dfg_kserve_read_infer(bytes, size, &arena, &infer);
	for (uint32_t i = 0; !err && i < infer.n_input; i++) {
		struct dfg_tensor tensor = {0};
		struct dfg_err *fault = dfg_kserve_read_contents(&infer.input[i], i % 2 ? DFG_STRING : DFG_F32, &tensor);
		if (!fault)
			dfg_tensor_release(&tensor);
		dfg_fuzz_end(fault);
	}
	dfg_fuzz_end(err);
	dfg_arena_release(&arena);
}

void dfg_fuzz_predict(const uint8_t *bytes, size_t size)
{
	for (int is_prediction = 0; is_prediction < 2; is_prediction++) {
		struct dfg_arena arena = {0};
		struct dfg_predict_request request = {0};
		dfg_fuzz_end(dfg_predict_read(bytes, size, is_prediction, &arena, &request));
		dfg_predict_release(&request);
		dfg_arena_release(&arena);
	}
}
