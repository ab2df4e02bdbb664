#include "kernels/cuda/row.cuh"

#include "kernels/logic.def"
