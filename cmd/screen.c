#include "cmd/screen.h"

#include "lib/base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dfg_text drawn; /* the drawn lines; empty: none */
static unsigned rows;         /* number of drawn lines; the cursor is at the end of the last */

bool dfg_screen_is_there(void)
{
	const char *term = getenv("TERM");
	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static void size_of_screen(unsigned *out_rows, unsigned *out_columns)
{
	struct winsize size;
	bool known = !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col;
	*out_rows = known ? size.ws_row : 24;
	*out_columns = known ? size.ws_col : 80;
}

/* Prints as much of a line as fits; color sequences and UTF-8 continuation bytes have no width. */
static void put_line(const char *line, size_t length, unsigned columns)
{
	unsigned column = 0;
	for (size_t i = 0; i < length; i++) {
		size_t escape = line[i] == '\033' ? strcspn(line + i, "m") + 1 : 0;
		if (escape && i + escape <= length) {
			fwrite(line + i, 1, escape, stderr);
			i += escape - 1;
			continue;
		}
		column += (line[i] & 0xc0) != 0x80;
		if (column < columns)
			putc(line[i], stderr);
	}
}

static void erase(void)
{
	if (rows > 1)
		fprintf(stderr, "\033[%uA", rows - 1);
	if (rows)
		fputs("\r\033[J", stderr);
	rows = 0;
}

static void put_screen(void)
{
	unsigned most, columns;
	size_of_screen(&most, &columns);
	for (const char *line = drawn.s; drawn.length && line && rows < most; rows++) {
		size_t length = strcspn(line, "\n");
		fputs(rows ? "\n" : "", stderr);
		put_line(line, length, columns);
		line = line[length] ? line + length + 1 : NULL;
	}
	fflush(stderr);
}

void dfg_screen_draw(const char *lines)
{
	if (!dfg_screen_is_there())
		return;
	pthread_mutex_lock(&lock);
	erase();
	drawn.length = 0;
	dfg_text_add(&drawn, "%s", lines);
	put_screen();
	pthread_mutex_unlock(&lock);
}

void dfg_screen_clear(void)
{
	pthread_mutex_lock(&lock);
	erase();
	dfg_text_release(&drawn);
	fflush(stderr);
	pthread_mutex_unlock(&lock);
}

void dfg_screen_keep(void)
{
	pthread_mutex_lock(&lock);
	if (rows)
		fputs("\n", stderr);
	rows = 0;
	dfg_text_release(&drawn);
	pthread_mutex_unlock(&lock);
}

void dfg_screen_hide(void)
{
	pthread_mutex_lock(&lock);
	erase();
}

void dfg_screen_show(void)
{
	put_screen();
	pthread_mutex_unlock(&lock);
}
