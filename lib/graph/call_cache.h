#pragma once

/*
 * Large graphs are made of few kinds of nodes. What is the same for many is kept here once, found by content: calls,
 * facts, and what inference says of a call that sees given facts. Part of struct dfg_facts, made on first use.
 */
struct dfg_alike;
void dfg_alike_free(struct dfg_alike *alike); /* NULL is fine */
