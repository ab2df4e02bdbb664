#define _GNU_SOURCE /* for memmem */
#include "remote/web/http1.h"

#include <string.h>
#include <strings.h>

size_t dfg_http1_head_size(const char *bytes, size_t size, size_t from)
{
	size_t at = from > 3 ? from - 3 : 0;
	const char *end = size - at >= 4 ? memmem(bytes + at, size - at, "\r\n\r\n", 4) : NULL;
	return end ? (size_t)(end - bytes) + 4 : 0;
}

/* The letters of all registered methods. */
static const char method_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
static const char bad_line_ends[] = "the head contains a bare CR, LF or zero byte, or a folded line";
static const char no_method[] = "the request line has no method";

const char *dfg_http1_fault(const char *bytes, size_t size, size_t from)
{
	bool may_be_empty_line = size == 1 && *bytes == '\r';
	if (size && !may_be_empty_line && (!*bytes || !strchr(method_letters, *bytes)))
		return no_method;
	for (size_t at = from; at < size; at++)
		if (!bytes[at] || (bytes[at] == '\n' && bytes[at - 1] != '\r'))
			return bad_line_ends;
	return NULL;
}

static bool is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		   (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_length(const char *text)
{
	size_t n = 0;
	while (is_token(text[n]))
		n++;
	return n;
}

/* Visible characters, without space. */
static size_t target_length(const char *text)
{
	size_t n = 0;
	while (text[n] > ' ' && text[n] < 127)
		n++;
	return n;
}

static bool is_value(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 127)
			return false;
	return true;
}

static int refuse(int status, const char **out_why, const char *why)
{
	*out_why = why;
	return status;
}

static int parse_request_line(char *line, struct dfg_http1_head *head, const char **out_why)
{
	size_t method = strspn(line, method_letters);
	char *target = line + method + 1;
	if (!method || line[method] != ' ')
		return refuse(400, out_why, no_method);
	size_t length = target_length(target);
	const char *version = target + length + 1;
	if (!length || target[length] != ' ' || strncmp(version, "HTTP/", 5) != 0)
		return refuse(400, out_why, "the request line is not METHOD TARGET VERSION");
	if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
		return refuse(505, out_why, "the version must be HTTP/1.1");
	if (*target != '/' && !(target[0] == '*' && length == 1))
		return refuse(400, out_why, "the target must be a path");
	line[method] = target[length] = 0;
	head->method = line;
	head->target = target;
	head->keeps_alive = version[7] == '1';
	head->is_1_0 = !head->keeps_alive;
	return 0;
}

static int parse_field(char *line, struct dfg_http1_head *head, const char **out_why)
{
	size_t name = token_length(line);
	if (!name || line[name] != ':')
		return refuse(400, out_why, "a header line is not NAME: VALUE");
	if (head->fields == DFG_HTTP1_FIELDS)
		return refuse(431, out_why, "there are more than 100 header fields");
	char *value = line + name + 1 + strspn(line + name + 1, " \t");
	size_t length = strlen(value);
	while (length && (value[length - 1] == ' ' || value[length - 1] == '\t'))
		length--;
	if (!is_value(value, length))
		return refuse(400, out_why, "a header field contains a control character");
	value[length] = line[name] = 0;
	for (size_t i = 0; i < name; i++)
		line[i] = (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] + 32 : line[i]);
	head->field[head->fields++] = (struct dfg_http_field){line, value};
	return 0;
}

/* Digits only: no sign, no list, no white space. */
static bool parse_length(const char *text, uint64_t *out_length)
{
	uint64_t value = 0;
	size_t n = strspn(text, "0123456789");
	for (size_t i = 0; i < n; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	*out_length = value;
	return n && n <= 18 && !text[n];
}

/* Whether a list with commas has the word, in any case of letters. */
static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);
	while (*list) {
		list += strspn(list, " \t,");
		size_t n = strcspn(list, " \t,");
		if (n == length && !strncasecmp(list, word, n))
			return true;
		list += n;
	}
	return false;
}

/* Whether a Host is empty, or a name or an address with or without a port. */
static bool is_host(const char *text)
{
	static const char digits[] = "0123456789";
	bool is_v6 = *text == '[';
	size_t n = is_v6 ? strspn(text + 1, "0123456789abcdefABCDEF:.") + 1
					 : strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+;=");
	if (is_v6 && text[n++] != ']')
		return false;
	return !text[n] || (n && text[n] == ':' && !text[n + 1 + strspn(text + n + 1, digits)]);
}

/* Reads a field that decides the framing of the request. `seen` counts Host, Content-Length and Transfer-Encoding. */
static int read_framing(
	const struct dfg_http_field *field, struct dfg_http1_head *head, unsigned seen[3], const char **out_why)
{
	if (!strcmp(field->name, "host") && (seen[0]++ || !is_host(field->value)))
		return refuse(
			400, out_why, "a request must have exactly one Host field, which is a name or an address and a port");
	if (!strcmp(field->name, "content-length") && (seen[1]++ || !parse_length(field->value, &head->length)))
		return refuse(400, out_why, "Content-Length must be one number");
	if (!strcmp(field->name, "transfer-encoding")) {
		if (seen[2]++ || strcasecmp(field->value, "chunked") != 0)
			return refuse(501, out_why, "the only Transfer-Encoding that is supported is chunked");
		head->is_chunked = true;
	}
	if (!strcmp(field->name, "connection"))
		head->keeps_alive =
			lists(field->value, "close") ? false : head->keeps_alive || lists(field->value, "keep-alive");
	if (!strcmp(field->name, "expect")) {
		if (strcasecmp(field->value, "100-continue") != 0)
			return refuse(417, out_why, "the only Expect that is supported is 100-continue");
		head->expects_continue = true;
	}
	return 0;
}

static int check_framing(struct dfg_http1_head *head, const char **out_why)
{
	unsigned seen[3] = {0};
	for (unsigned i = 0; i < head->fields; i++) {
		int status = read_framing(&head->field[i], head, seen, out_why);
		if (status)
			return status;
	}
	if (seen[0] > 1 || (!head->is_1_0 && !seen[0]))
		return refuse(400, out_why, "a request must have exactly one Host field");
	if (seen[1] && seen[2])
		return refuse(400, out_why, "a request must not have both Content-Length and Transfer-Encoding");
	if (seen[2] && head->is_1_0)
		return refuse(400, out_why, "HTTP/1.0 has no Transfer-Encoding");
	return 0;
}

/* Ends each line with 0. False for a zero byte, a bare CR or LF, or a folded line. */
static bool split_lines(char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\r' && i + 1 < size && bytes[i + 1] == '\n') {
			bool folded = i + 2 < size && (bytes[i + 2] == ' ' || bytes[i + 2] == '\t');
			if (folded)
				return false;
			bytes[i] = 0;
			i++;
		} else if (!bytes[i] || bytes[i] == '\r' || bytes[i] == '\n') {
			return false;
		}
	}
	return true;
}

int dfg_http1_parse(char *bytes, size_t size, struct dfg_http1_head *out_head, const char **out_why)
{
	*out_head = (struct dfg_http1_head){0};
	if (!split_lines(bytes, size))
		return refuse(400, out_why, bad_line_ends);
	char *line = bytes;
	int status = parse_request_line(line, out_head, out_why);
	/* the request line and a field are divided by zeros now, so the ends of lines are found from the end of VERSION */
	for (line = status ? NULL : (char *)out_head->target + strlen(out_head->target) + sizeof "HTTP/1.1" + 2;
		 !status && *line;) {
		char *next = line + strlen(line) + 2;
		status = parse_field(line, out_head, out_why);
		line = next;
	}
	return status ? status : check_framing(out_head, out_why);
}

enum { SIZE_FIRST, SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER_FIRST, TRAILER, TRAILER_LF, LAST_LF, END };
enum { LINE_MOST = 4096 };

static int digit(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static bool take_size(struct dfg_http1_chunks *chunks, uint8_t c)
{
	int value = digit(c);
	if (value >= 0 && chunks->left >> 56)
		return false;
	if (value >= 0) {
		chunks->left = chunks->left * 16 + (uint64_t)value;
		chunks->state = SIZE;
		return true;
	}
	chunks->state = c == '\r' ? SIZE_LF : EXTENSION;
	return c == '\r' || c == ';' || c == ' ' || c == '\t';
}

/* One byte of the framing. */
static bool step(struct dfg_http1_chunks *chunks, uint8_t c)
{
	static const uint8_t after_lf[] = {[DATA_LF] = SIZE_FIRST, [TRAILER_LF] = TRAILER_FIRST, [LAST_LF] = END};
	switch (chunks->state) {
	case SIZE_FIRST:
		return digit(c) >= 0 && take_size(chunks, c);
	case SIZE:
		return take_size(chunks, c);
	case EXTENSION:
	case TRAILER:
		if (c == '\r')
			chunks->state++;
		return c == '\r' || (c >= ' ' && c != 127) || c == '\t';
	case SIZE_LF:
		chunks->state = chunks->left ? DATA : TRAILER_FIRST;
		chunks->line = 0;
		return c == '\n';
	case DATA_CR:
		chunks->state = DATA_LF;
		return c == '\r';
	case TRAILER_FIRST:
		chunks->state = c == '\r' ? LAST_LF : TRAILER;
		return c == '\r' || is_token((char)c);
	default:
		chunks->state = after_lf[chunks->state];
		return c == '\n';
	}
}

bool dfg_http1_chunk(struct dfg_http1_chunks *chunks, const uint8_t *bytes, size_t size, size_t *out_used,
	const uint8_t **out_data, size_t *out_count, bool *out_end)
{
	size_t used = 0;
	*out_count = 0;
	while (used < size && chunks->state != END && chunks->state != DATA)
		if (++chunks->line > LINE_MOST || !step(chunks, bytes[used++]))
			return false;
	if (used < size && chunks->state == DATA) {
		*out_data = bytes + used;
		*out_count = chunks->left < size - used ? (size_t)chunks->left : size - used;
		chunks->left -= *out_count;
		used += *out_count;
		if (!chunks->left)
			chunks->state = DATA_CR;
	}
	*out_used = used;
	*out_end = chunks->state == END;
	return true;
}
