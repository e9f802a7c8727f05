// The functions that Go calls.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The kernels by number: the name, the number of parameters, and the size of each parameter in
// bytes.
int kernels_count(void);
const char *kernel_name(int i);
int kernel_params(int i);
int kernel_param_size(int i, int k);

// kernel_launch runs a kernel; reverse takes the last thread and block first. The result 1 means
// that threads wait for threads that have ended, or for each other.
int kernel_launch(int i, const unsigned *grid, const unsigned *block, const uint64_t *args, int reverse);

#ifdef __cplusplus
}
#endif
