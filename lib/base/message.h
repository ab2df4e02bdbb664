#pragma once

/*
 * Messages that a graph itself writes while it runs, as the op Print does. The program says once, before the first step,
 * where they go; until then they are dropped. write() is called on any thread, with text that has no newline at its end.
 */
typedef void dfg_message_fn(const char *text);
void dfg_messages_to(dfg_message_fn *write);
void dfg_message(const char *text);
