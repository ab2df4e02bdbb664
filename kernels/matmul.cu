#include "kernels/cuda/product.cuh"

PRODUCT_KERNELS(MatMul)
PRODUCT_KERNELS(BatchMatMul)
PRODUCT_KERNELS(BatchMatMulV2)
