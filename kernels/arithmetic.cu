#include "kernels/cuda/row.cuh"

#include "kernels/arithmetic.def"
