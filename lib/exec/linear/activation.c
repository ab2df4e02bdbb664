#include "lib/exec/linear/activation_private.h"

/* An activation: the memory of one run of a program. */

void dfg_activation_start_slot(struct activation *activation, uint32_t slot)
{
	activation->tensor[slot] = activation->program->start[slot];
	if (activation->program->in_block[slot])
		activation->tensor[slot].data = (char *)activation->block + (uintptr_t)activation->program->start[slot].data;
}

void dfg_activation_free(struct activation *activation)
{
	dfg_runner_release(&activation->runner);
	dfg_free(activation->block);
	dfg_free(activation->tensor);
	dfg_free(activation->at);
	dfg_free(activation->data);
	dfg_free(activation->fixed_move);
	dfg_free(activation->chosen);
	dfg_free(activation->iteration);
	for (uint32_t i = 0; activation->saved && i < activation->plan->schedule->saves; i++)
		dfg_saved_release(&activation->saved[i]);
	dfg_free(activation->saved);
	dfg_free(activation->counter);
	dfg_free(activation);
}

void dfg_activations_free(struct activation *activation)
{
	while (activation) {
		struct activation *next = activation->next;
		dfg_activation_free(activation);
		activation = next;
	}
}
