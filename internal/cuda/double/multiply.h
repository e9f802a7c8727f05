// C = alpha op(A) op(B) + beta C for row-major matrices at addresses of the host's: driver.Gemm.
#pragma once
#ifdef __cplusplus
extern "C"
#endif
int host_multiply(int precision, long rows, long cols, long inner, int trans_a, int trans_b, double alpha, double beta,
                       unsigned long a, long stride_a, unsigned long b, long stride_b, unsigned long c, long stride_c);
