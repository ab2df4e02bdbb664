#pragma once

#include "lib/base/err.h"
#include "lib/exec/device/api.h"

/*
 * The provider of devices: the library that the environment variable DFG_CUDA names, or else dfg-cuda.so in the folder of
 * this program. Opened once, by the first caller, for the life of the program; any thread. DFG_CONFIG, with the remedy, if
 * there is none, if it is of another build, or if it refuses its configuration.
 */
DFG_MUST_CHECK struct dfg_err *dfg_device_provider_open(const struct dfg_device_provider **out_provider);

/* Whether there is such a file, or DFG_CUDA names one. */
bool dfg_device_provider_exists(void);

/* The number of devices; DFG_CONFIG if there is none, or if the driver cannot be used. */
DFG_MUST_CHECK struct dfg_err *dfg_device_count(const struct dfg_device_provider *provider, int *out_count);

/* DFG_CONFIG, naming those that exist, if there is no such device. */
DFG_MUST_CHECK struct dfg_err *dfg_device_check(const struct dfg_device_provider *provider, int index);

/* Where the kernels of this build have run: "kernels not yet run on a device". */
const char *dfg_device_verified(void);

/* The error of a function of the table, or NULL for cudaSuccess: "WHAT: illegal address (cudaErrorIllegalAddress)". */
DFG_MUST_CHECK struct dfg_err *dfg_cuda_error(cudaError_t error, const char *what);
