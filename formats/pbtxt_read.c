#include "formats/pbtxt.h"

#include "formats/pbtxt_lex.h"
#include "lib/base/map.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Text is converted in order: fields in the order of the text, items one by one, and the length of a message as a
 * padded varint that is filled in at its end. The walker accepts all that; canonical form is up to its readers.
 */

enum { PADDED = 5, NUMBER_MOST = 400 };

/* An open message. */
struct frame {
	const ProtobufCFieldDescriptor *field;  /* field of the message; NULL for the outermost */
	const ProtobufCMessageDescriptor *type; /* type of the message; NULL: in an unknown field, skipped */
	uint64_t seen;                          /* as in struct dfg_wire */
	size_t length_at;
	char close;
	bool in_list;
};

struct parser {
	struct dfg_pbtxt_lexer lexer;
	struct dfg_wire_file *file;
	struct dfg_text *out;
	struct frame frame[DFG_WIRE_DEPTH];
	int depth;
};

static void put_tag(struct parser *p, const ProtobufCFieldDescriptor *field)
{
	size_t fixed = dfg_wire_fixed(field->type);
	unsigned wire_type = field->type >= PROTOBUF_C_TYPE_STRING ? PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED
						 : fixed == 4                          ? PROTOBUF_C_WIRE_TYPE_32BIT
						 : fixed == 8                          ? PROTOBUF_C_WIRE_TYPE_64BIT
															   : PROTOBUF_C_WIRE_TYPE_VARINT;
	dfg_wire_put_varint(p->out, (uint64_t)field->id << 3 | wire_type);
}

/* Reserves bytes for a length and returns their offset. */
static size_t reserve_length(struct parser *p)
{
	size_t at = p->out->length;
	dfg_text_put(p->out, "\x80\x80\x80\x80", PADDED);
	return at;
}

static struct dfg_err *fill_length(struct parser *p, size_t at)
{
	DFG_TRY(dfg_text_check(p->out));
	uint64_t length = p->out->length - at - PADDED;
	if (length >> 7 * PADDED)
		return dfg_pbtxt_error(&p->lexer, "a message has %" PRIu64 " bytes, the limit is %" PRIu64, length,
			((uint64_t)1 << 7 * PADDED) - 1);
	for (int i = 0; i < PADDED; i++, length >>= 7)
		p->out->s[at + (size_t)i] = (char)((length & 0x7f) | (i < PADDED - 1 ? 0x80 : 0));
	return NULL;
}

static struct dfg_err *expect(struct parser *p, char sign)
{
	if (!dfg_pbtxt_is(&p->lexer, sign))
		return dfg_pbtxt_error(&p->lexer, "expected '%c', not '%s'", sign, dfg_pbtxt_words(&p->lexer).s);
	return dfg_pbtxt_next(&p->lexer);
}

static bool token_is(const struct dfg_pbtxt_lexer *lexer, const char *word)
{
	return lexer->length == strlen(word) && !memcmp(lexer->s, word, lexer->length);
}

static struct dfg_err *no_field(const struct parser *p, const ProtobufCMessageDescriptor *type)
{
	char word[100] = "";
	struct dfg_nearest nearest = {.word = word};
	if (p->lexer.length < sizeof word)
		memcpy(word, p->lexer.s, p->lexer.length);
	for (unsigned i = 0; i < type->n_fields; i++)
		dfg_nearest_offer(&nearest, type->fields[i].name);
	return dfg_pbtxt_error(&p->lexer, "no field '%s' in a %s%s%s%s", dfg_pbtxt_words(&p->lexer).s, type->short_name,
		nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

/* Finds the field of that name; NULL for one to be skipped. */
static struct dfg_err *find_field(struct parser *p, const ProtobufCFieldDescriptor **out_field)
{
	const ProtobufCMessageDescriptor *type = p->frame[p->depth - 1].type;
	*out_field = NULL;
	if (p->lexer.kind != DFG_PBTXT_NAME)
		return dfg_pbtxt_error(&p->lexer, "expected the name of a field, not '%s'", dfg_pbtxt_words(&p->lexer).s);
	for (unsigned i = 0; type && i < type->n_fields; i++)
		if (token_is(&p->lexer, type->fields[i].name))
			*out_field = &type->fields[i];
	if (*out_field || !type)
		return NULL;
	if (p->file->strict)
		return no_field(p, type);
	if (!p->file->unknown++) {
		p->file->first_unknown.message = type->short_name;
		p->file->first_unknown.at = (size_t)(p->lexer.s - p->file->start);
	}
	return NULL;
}

/* As check_once() of the walker, but also for scalar fields: a repeated one is a mistake. */
static struct dfg_err *check_once(const struct parser *p, struct frame *frame, const ProtobufCFieldDescriptor *field)
{
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return NULL;
	for (unsigned i = 0; i < frame->type->n_fields; i++) {
		const ProtobufCFieldDescriptor *other = &frame->type->fields[i];
		bool same_oneof = field->flags & other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
						  other->quantifier_offset == field->quantifier_offset;
		if (frame->seen >> i & 1 && (other == field || same_oneof))
			return dfg_pbtxt_error(&p->lexer, "%s of a %s is given twice, or together with %s", field->name,
				frame->type->short_name, other->name);
	}
	frame->seen |= UINT64_C(1) << (field - frame->type->fields);
	return NULL;
}

static struct dfg_err *wrong_value(const struct parser *p, const ProtobufCFieldDescriptor *field, const char *expected)
{
	return dfg_pbtxt_error(&p->lexer, "%s must be %s, not '%s'", field->name, expected, dfg_pbtxt_words(&p->lexer).s);
}

static struct dfg_err *read_quoted(struct parser *p, const ProtobufCFieldDescriptor *field)
{
	if (p->lexer.kind != DFG_PBTXT_QUOTED)
		return wrong_value(p, field, "a quoted string");
	put_tag(p, field);
	size_t at = reserve_length(p);
	while (p->lexer.kind == DFG_PBTXT_QUOTED) {
		DFG_TRY(dfg_pbtxt_unquote(&p->lexer, p->out));
		DFG_TRY(dfg_pbtxt_next(&p->lexer));
	}
	return fill_length(p, at);
}

/* Copies the token to a C string for the C library. */
static bool copy_token(const struct parser *p, char word[NUMBER_MOST])
{
	if (p->lexer.length >= NUMBER_MOST)
		return false;
	memcpy(word, p->lexer.s, p->lexer.length);
	word[p->lexer.length] = '\0';
	return true;
}

static bool is_float_word(const char *word, double *out_value)
{
	bool inf = !strcasecmp(word, "inf") || !strcasecmp(word, "infinity") || !strcasecmp(word, "inff");
	if (!inf && strcasecmp(word, "nan") && strcasecmp(word, "nanf"))
		return false;
	*out_value = inf ? HUGE_VAL : (double)NAN;
	return true;
}

/* Parses a float or a double as its own type, so that it is rounded once. */
static bool float_bits(ProtobufCType type, char *word, bool negative, uint64_t *out_bits)
{
	double wide;
	float narrow;
	char *end;
	size_t length = strlen(word);
	if (is_float_word(word, &wide)) {
		narrow = (float)wide;
	} else {
		if (length > 1 && (word[length - 1] | 0x20) == 'f' && !strchr(word, 'x'))
			word[length - 1] = '\0';
		if (!strchr("0123456789.", *word))
			return false;
		wide = strtod(word, &end);
		narrow = strtof(word, &end);
		if (*end)
			return false;
	}
	wide = negative ? -wide : wide;
	narrow = negative ? -narrow : narrow;
	*out_bits = 0;
	if (type == PROTOBUF_C_TYPE_FLOAT)
		memcpy(out_bits, &narrow, sizeof narrow);
	else
		memcpy(out_bits, &wide, sizeof wide);
	return true;
}

/* Parses whole numbers in decimal, octal or hexadecimal, within [-below, above]. */
static bool whole_bits(const char *word, bool negative, uint64_t below, uint64_t above, uint64_t *out_bits)
{
	char *end;
	errno = 0;
	if (*word < '0' || *word > '9')
		return false;
	unsigned long long value = strtoull(word, &end, 0);
	if (*end || errno || value > (negative ? below : above))
		return false;
	*out_bits = negative ? -(uint64_t)value : value;
	return true;
}

static bool word_bits(const ProtobufCFieldDescriptor *field, const char *word, uint64_t *out_bits)
{
	static const char *const yes[] = {"true", "True", "t", NULL}, *const no[] = {"false", "False", "f", NULL};
	if (field->type == PROTOBUF_C_TYPE_ENUM) {
		const ProtobufCEnumValue *named = protobuf_c_enum_descriptor_get_value_by_name(field->descriptor, word);
		*out_bits = named ? (uint64_t)(int64_t)named->value : 0;
		return named;
	}
	for (int i = 0; field->type == PROTOBUF_C_TYPE_BOOL && yes[i]; i++)
		if (!strcmp(word, yes[i]) || !strcmp(word, no[i])) {
			*out_bits = !strcmp(word, yes[i]);
			return true;
		}
	return false;
}

static struct dfg_err *parse_number(
	const struct parser *p, const ProtobufCFieldDescriptor *field, bool negative, uint64_t *out_bits)
{
	static const struct {
		uint64_t below, above;
		const char *words;
	} range[] = {
		[PROTOBUF_C_TYPE_INT32] = {UINT64_C(1) << 31, INT32_MAX, "an integer of 32 bits"},
		[PROTOBUF_C_TYPE_INT64] = {UINT64_C(1) << 63, INT64_MAX, "an integer of 64 bits"},
		[PROTOBUF_C_TYPE_UINT32] = {0, UINT32_MAX, "an unsigned integer of 32 bits"},
		[PROTOBUF_C_TYPE_UINT64] = {0, UINT64_MAX, "an unsigned integer of 64 bits"},
		[PROTOBUF_C_TYPE_FIXED64] = {0, UINT64_MAX, "an unsigned integer of 64 bits"},
		[PROTOBUF_C_TYPE_BOOL] = {0, 1, "true or false"},
		[PROTOBUF_C_TYPE_ENUM] = {UINT64_C(1) << 31, INT32_MAX, "a name or number of its enum"},
		[PROTOBUF_C_TYPE_FLOAT] = {0, 0, "a number"},
		[PROTOBUF_C_TYPE_DOUBLE] = {0, 0, "a number"},
	};
	char word[NUMBER_MOST];
	bool good = (p->lexer.kind == DFG_PBTXT_NUMBER || p->lexer.kind == DFG_PBTXT_NAME) && copy_token(p, word);
	if (good && (field->type == PROTOBUF_C_TYPE_FLOAT || field->type == PROTOBUF_C_TYPE_DOUBLE))
		good = float_bits(field->type, word, negative, out_bits);
	else if (good && p->lexer.kind == DFG_PBTXT_NAME)
		good = !negative && word_bits(field, word, out_bits);
	else if (good)
		good = whole_bits(word, negative, range[field->type].below, range[field->type].above, out_bits);
	return good ? NULL : wrong_value(p, field, range[field->type].words);
}

static struct dfg_err *read_number(struct parser *p, const ProtobufCFieldDescriptor *field)
{
	bool negative = dfg_pbtxt_is(&p->lexer, '-');
	uint64_t bits;
	if (negative)
		DFG_TRY(dfg_pbtxt_next(&p->lexer));
	DFG_TRY(parse_number(p, field, negative, &bits));
	put_tag(p, field);
	size_t fixed = dfg_wire_fixed(field->type);
	if (fixed)
		dfg_text_put(p->out, &bits, fixed);
	else
		dfg_wire_put_varint(p->out, bits);
	return dfg_pbtxt_next(&p->lexer);
}

static struct dfg_err *pass_value(struct parser *p)
{
	if (dfg_pbtxt_is(&p->lexer, '-'))
		DFG_TRY(dfg_pbtxt_next(&p->lexer));
	if (p->lexer.kind == DFG_PBTXT_SIGN || p->lexer.kind == DFG_PBTXT_END)
		return dfg_pbtxt_error(&p->lexer, "expected a value, not '%s'", dfg_pbtxt_words(&p->lexer).s);
	bool quoted;
	do {
		quoted = p->lexer.kind == DFG_PBTXT_QUOTED;
		DFG_TRY(dfg_pbtxt_next(&p->lexer));
	} while (quoted && p->lexer.kind == DFG_PBTXT_QUOTED);
	return NULL;
}

static struct dfg_err *read_value(struct parser *p, const ProtobufCFieldDescriptor *field)
{
	if (!field)
		return pass_value(p);
	if (field->type >= PROTOBUF_C_TYPE_STRING)
		return read_quoted(p, field);
	return read_number(p, field);
}

static bool opens(const struct dfg_pbtxt_lexer *lexer)
{
	return dfg_pbtxt_is(lexer, '{') || dfg_pbtxt_is(lexer, '<');
}

static struct dfg_err *open_message(struct parser *p, const ProtobufCFieldDescriptor *field, bool in_list)
{
	if (!opens(&p->lexer))
		return dfg_pbtxt_error(&p->lexer, "expected '{', not '%s'", dfg_pbtxt_words(&p->lexer).s);
	if (p->depth == DFG_WIRE_DEPTH)
		return dfg_pbtxt_error(&p->lexer, "messages are nested deeper than %d", DFG_WIRE_DEPTH);
	struct frame *frame = &p->frame[p->depth++];
	*frame = (struct frame){.field = field, .close = *p->lexer.s == '{' ? '}' : '>', .in_list = in_list};
	if (field) {
		frame->type = dfg_wire_message_type(field);
		put_tag(p, field);
		frame->length_at = reserve_length(p);
	}
	return dfg_pbtxt_next(&p->lexer);
}

/* Fields may be separated by a comma or semicolon. */
static struct dfg_err *pass_separator(struct parser *p)
{
	return dfg_pbtxt_is(&p->lexer, ',') || dfg_pbtxt_is(&p->lexer, ';') ? dfg_pbtxt_next(&p->lexer) : NULL;
}

/* Reads "[1, 2]", or the first message of "[{..}, {..}]", after the bracket. */
static struct dfg_err *read_list(struct parser *p, const ProtobufCFieldDescriptor *field)
{
	if (field && field->label != PROTOBUF_C_LABEL_REPEATED)
		return dfg_pbtxt_error(&p->lexer, "%s takes one value, but a list is given", field->name);
	if (opens(&p->lexer) && (!field || dfg_wire_message_type(field)))
		return open_message(p, field, true);
	while (!dfg_pbtxt_is(&p->lexer, ']')) {
		if (field && dfg_wire_message_type(field))
			return open_message(p, field, true); /* reports the error */
		DFG_TRY(read_value(p, field));
		if (!dfg_pbtxt_is(&p->lexer, ']'))
			DFG_TRY(expect(p, ','));
	}
	DFG_TRY(dfg_pbtxt_next(&p->lexer));
	return pass_separator(p);
}

static struct dfg_err *read_field(struct parser *p)
{
	const ProtobufCFieldDescriptor *field;
	DFG_TRY(find_field(p, &field));
	if (field)
		DFG_TRY(check_once(p, &p->frame[p->depth - 1], field));
	DFG_TRY(dfg_pbtxt_next(&p->lexer));
	bool colon = dfg_pbtxt_is(&p->lexer, ':');
	if (colon)
		DFG_TRY(dfg_pbtxt_next(&p->lexer));
	if (dfg_pbtxt_is(&p->lexer, '[')) {
		DFG_TRY(dfg_pbtxt_next(&p->lexer));
		return read_list(p, field);
	}
	if (field ? dfg_wire_message_type(field) != NULL : opens(&p->lexer))
		return open_message(p, field, false);
	if (!colon)
		return expect(p, ':');
	DFG_TRY(read_value(p, field));
	return pass_separator(p);
}

static struct dfg_err *close_message(struct parser *p)
{
	const struct frame frame = p->frame[--p->depth];
	DFG_TRY(dfg_pbtxt_next(&p->lexer));
	if (frame.type)
		DFG_TRY(fill_length(p, frame.length_at));
	if (!frame.in_list)
		return pass_separator(p);
	if (dfg_pbtxt_is(&p->lexer, ']')) {
		DFG_TRY(dfg_pbtxt_next(&p->lexer));
		return pass_separator(p);
	}
	DFG_TRY(expect(p, ','));
	return open_message(p, frame.field, true);
}

struct dfg_err *dfg_pbtxt_to_wire(const ProtobufCMessageDescriptor *type, const uint8_t *text, size_t length,
	struct dfg_wire_file *file, struct dfg_text *out_wire)
{
	struct parser p = {.file = file, .out = out_wire, .depth = 1};
	p.frame[0].type = type;
	DFG_TRY(dfg_pbtxt_start(&p.lexer, text, length));
	while (p.depth > 1 || p.lexer.kind != DFG_PBTXT_END) {
		const struct frame *frame = &p.frame[p.depth - 1];
		if (p.depth > 1 && dfg_pbtxt_is(&p.lexer, frame->close))
			DFG_TRY(close_message(&p));
		else
			DFG_TRY(read_field(&p));
	}
	return dfg_text_check(out_wire);
}
