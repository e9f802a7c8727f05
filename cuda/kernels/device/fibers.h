// What Go calls.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The kernels, by their number: name, number of parameters and the bytes of each.
int kernels_count(void);
const char *kernel_name(int i);
int kernel_params(int i);
int kernel_param_size(int i, int k);

// kernel_launch runs a kernel, with reverse its last thread and block first; 1 means that threads wait for others that have ended, or for
// each other.
int kernel_launch(int i, const unsigned *grid, const unsigned *block, const uint64_t *args, int reverse);

#ifdef __cplusplus
}
#endif
