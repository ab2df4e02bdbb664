#pragma once

/*
 * Large graphs are made of few kinds of nodes. What is the same for many is kept here once, found by content: calls,
 * facts, and what inference says of a call that sees given facts. Part of struct dfg_facts, made on first use.
 */
struct dfg_call_cache;
void dfg_call_cache_free(struct dfg_call_cache *alike); /* NULL is fine */
