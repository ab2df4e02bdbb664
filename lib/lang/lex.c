#include "lib/lang/lex.h"

#include "lib/base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* All symbols; a longer one comes before its prefixes. */
static const char *const signs[] = {"...", "..", "->", "==", "!=", "<=", ">=", "+=", "-=", "**", "//", "+", "-", "*",
	"/", "%", "@", "<", ">", "=", ",", ":", ".", "(", ")", "[", "]", "{", "}", "?", NULL};

static const char *const open_ended[] = {",", "=", "+=", "-=", "+", "-", "*", "/", "//", "%", "@", "**",
	"==", "!=", "<", "<=", ">", ">=", "->", "and", "or", "not", NULL};

struct lexer {
	const struct dfg_source *source;
	uint32_t at;
	char bracket[DFG_NEST_MAX];
	int depth;
	bool newline; /* a newline was seen since .last */
	bool keep_comments;
	struct dfg_token last; /* the last token that is not a comment */
	struct dfg_token *token;
	size_t count, capacity;
};

bool dfg_token_is(const struct dfg_source *source, struct dfg_token token, const char *word)
{
	return (token.kind == DFG_TOKEN_NAME || token.kind == DFG_TOKEN_SIGN) && strlen(word) == token.length &&
		   !memcmp(source->text + token.at, word, token.length);
}

bool dfg_token_continues(const struct dfg_source *source, struct dfg_token token)
{
	for (const char *const *sign = open_ended; *sign; sign++)
		if (dfg_token_is(source, token, *sign))
			return true;
	return false;
}

static bool word_sign(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static uint32_t word_end(const char *text, uint32_t at)
{
	while (word_sign(text[at]))
		at++;
	return at;
}

/* `Onnx>GridSample` is one word; `a>b` is three. */
static uint32_t name_end(const char *text, uint32_t at)
{
	uint32_t end = word_end(text, at);
	if (isupper((unsigned char)text[at]) && text[end] == '>' && isupper((unsigned char)text[end + 1]))
		return word_end(text, end + 1);
	return end;
}

static uint32_t digits_end(const char *text, uint32_t at)
{
	while (isdigit((unsigned char)text[at]))
		at++;
	return at;
}

/* A dot is part of the number only if a digit follows, so that 0..4 is a range. */
static uint32_t number_end(const char *text, uint32_t at)
{
	uint32_t end = digits_end(text, at);
	if (text[end] == '.' && isdigit((unsigned char)text[end + 1]))
		end = digits_end(text, end + 1);
	if (text[end] == 'e' || text[end] == 'E') {
		uint32_t sign = end + 1 + (text[end + 1] == '+' || text[end + 1] == '-');
		if (isdigit((unsigned char)text[sign]))
			end = digits_end(text, sign);
	}
	return end;
}

/* The offset after the closing quote, or 0. */
static uint32_t string_end(const char *text, uint32_t at)
{
	for (at++; text[at] && text[at] != '\n'; at++) {
		if (text[at] == '"')
			return at + 1;
		if (text[at] == '\\' && text[at + 1] && text[at + 1] != '\n')
			at++;
	}
	return 0;
}

static struct dfg_err *wrong(const struct lexer *lexer, const char *what)
{
	return dfg_source_err(lexer->source, lexer->at, DFG_DATA, what);
}

/* The spelling in this language of what others write with the character. */
static const char *spelling(unsigned char c)
{
	switch (c) {
	case '&':
		return ": write `and`";
	case '|':
		return ": write `or`";
	case '!':
		return ": write `not`";
	case ';':
		return ": each statement has a line of its own";
	case '\'':
		return ": strings are written in double quotes";
	default:
		return "";
	}
}

static struct dfg_err *wrong_character(const struct lexer *lexer, unsigned char c)
{
	char what[80];
	snprintf(
		what, sizeof what, isprint(c) ? "unexpected character '%c'%s" : "unexpected byte 0x%02x%s", c, spelling(c));
	return wrong(lexer, what);
}

static struct dfg_err *scan(struct lexer *lexer, struct dfg_token *out_token)
{
	const char *text = lexer->source->text;
	uint32_t at = lexer->at, end = at;
	unsigned char c = (unsigned char)text[at];
	*out_token = (struct dfg_token){.at = at};

	if (isalpha(c) || c == '_') {
		out_token->kind = DFG_TOKEN_NAME;
		end = name_end(text, at);
	} else if (isdigit(c)) {
		out_token->kind = DFG_TOKEN_NUMBER;
		end = number_end(text, at);
		if (word_sign(text[end]))
			return wrong(lexer, "a number must not be followed by a letter");
	} else if (c == '"') {
		out_token->kind = DFG_TOKEN_STRING;
		end = string_end(text, at);
		if (!end)
			return wrong(lexer, "the string does not end on its line");
	} else {
		out_token->kind = DFG_TOKEN_SIGN;
		for (const char *const *sign = signs; *sign && end == at; sign++)
			if (!strncmp(text + at, *sign, strlen(*sign)))
				end = at + (uint32_t)strlen(*sign);
	}
	if (end == at)
		return wrong_character(lexer, c);
	out_token->length = end - at;
	lexer->at = end;
	return NULL;
}

static struct dfg_err *push_token(struct lexer *lexer, struct dfg_token token)
{
	if (!dfg_reserve(&lexer->token, &lexer->capacity, lexer->count + 1, sizeof *lexer->token))
		return dfg_no_memory("the text of the program");
	lexer->token[lexer->count++] = token;
	if (token.kind != DFG_TOKEN_COMMENT)
		lexer->last = token;
	return NULL;
}

static struct dfg_err *nest(struct lexer *lexer, struct dfg_token token)
{
	char c = token.kind == DFG_TOKEN_SIGN ? lexer->source->text[token.at] : ' ';
	if (c == '(' || c == '[' || c == '{') {
		if (lexer->depth == DFG_NEST_MAX) {
			lexer->at = token.at;
			return wrong(lexer, "brackets nest deeper than 256");
		}
		lexer->bracket[lexer->depth++] = c;
	} else if ((c == ')' || c == ']' || c == '}') && lexer->depth)
		lexer->depth--;
	return NULL;
}

/* Whether a newline before this token, if there is one, ends a statement. */
static bool ends(const struct lexer *lexer, struct dfg_token next)
{
	bool inside = lexer->depth && lexer->bracket[lexer->depth - 1] != '{';
	return lexer->newline && !inside && lexer->last.kind != DFG_TOKEN_NEWLINE &&
		   !dfg_token_continues(lexer->source, lexer->last) && !dfg_token_is(lexer->source, next, "else");
}

static struct dfg_err *comment(struct lexer *lexer)
{
	struct dfg_token token = {DFG_TOKEN_COMMENT, lexer->at, (uint32_t)strcspn(lexer->source->text + lexer->at, "\n")};
	lexer->at += token.length;
	return lexer->keep_comments ? push_token(lexer, token) : NULL;
}

static struct dfg_err *next(struct lexer *lexer)
{
	struct dfg_token token;
	DFG_TRY(scan(lexer, &token));
	if (ends(lexer, token))
		DFG_TRY(push_token(lexer, (struct dfg_token){DFG_TOKEN_NEWLINE, token.at, 0}));
	lexer->newline = false;
	DFG_TRY(nest(lexer, token));
	return push_token(lexer, token);
}

static struct dfg_err *all(struct lexer *lexer)
{
	const char *text = lexer->source->text;
	while (lexer->at < lexer->source->length) {
		char c = text[lexer->at];
		if (c == '#') {
			DFG_TRY(comment(lexer));
		} else if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
			lexer->newline |= c == '\n';
			lexer->at++;
		} else {
			DFG_TRY(next(lexer));
		}
	}
	DFG_TRY(push_token(lexer, (struct dfg_token){DFG_TOKEN_NEWLINE, lexer->at, 0}));
	return push_token(lexer, (struct dfg_token){DFG_TOKEN_END, lexer->at, 0});
}

struct dfg_err *dfg_lex(const struct dfg_source *source, bool keep_comments, struct dfg_tokens *out_tokens)
{
	struct lexer lexer = {.source = source, .keep_comments = keep_comments, .last.kind = DFG_TOKEN_NEWLINE};
	struct dfg_err *err = all(&lexer);
	*out_tokens = (struct dfg_tokens){lexer.token, (uint32_t)lexer.count};
	if (err) {
		dfg_free(lexer.token);
		*out_tokens = (struct dfg_tokens){0};
	}
	return err;
}
