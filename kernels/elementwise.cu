#include "kernels/cuda/row.cuh"

#include "kernels/elementwise.def"
