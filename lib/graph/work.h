#pragma once

/*
 * The operations of floats (a fused multiply-add is two) that products and convolutions called on this thread have done,
 * whichever threads computed them. For profiles: the difference around a kernel is its work.
 */
extern _Thread_local double dfg_work;
