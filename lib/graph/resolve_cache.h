#pragma once

/*
 * Cache of equal calls, facts and results of inference, by content: large graphs consist of few kinds of nodes. Part of
 * struct dfg_facts, made on first use.
 */
struct dfg_resolve_cache;
void dfg_resolve_cache_free(struct dfg_resolve_cache *alike); /* buffer may be NULL */
