#include "kernels/cuda/row.cuh"

#include "kernels/activation.def"
