#pragma once

/* Put before functions that run on devices too. */
#ifdef __CUDACC__
#define DFG_DEVICE __host__ __device__
#else
#define DFG_DEVICE
#endif
