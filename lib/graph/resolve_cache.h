#pragma once

/*
 * Cache of equal calls, facts and results of inference, by content: large graphs consist of few kinds of nodes. Part of
 * struct dfg_facts, made on first use. Without it the check of a graph of 10^6 nodes takes twice as long, and its gradient,
 * whose memo (lib/pass/grad/memo.h) goes by these calls, four times.
 */
struct dfg_resolve_cache;
void dfg_resolve_cache_free(struct dfg_resolve_cache *alike); /* buffer may be NULL */
