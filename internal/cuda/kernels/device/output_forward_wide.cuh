// The pass of output_forward.cu for LEAST to C scores and multiples of four columns: a thread takes
// four columns and four rows at a time, with loads and stores of 128 bits, and the activation is
// known to the compiler. w (a row for each column) has no gaps. The sums over the columns have
// another order than in output_forward.cu.
#pragma once
#include "activations.cuh"
#include "wide.cuh"

enum { NONE = -1 }; // no activation, and no bias

// blockDim.x threads, a power of two up to 32, take FOUR rows at a time.
template <int C, int LEAST, int F>
__device__ void output_forward_wide(real *a, int64 as, const real *b, const real *__restrict__ w, int64 ws, const real *__restrict__ c,
                                    int64 rows, int64 hidden, real *out, int64 os, int64 add) {
  const int64 cols = scores_of<C, LEAST>(ws);
  for (int64 base = (int64)blockIdx.x * blockDim.y * FOUR; base < rows; base += (int64)gridDim.x * blockDim.y * FOUR) {
    // Missing rows are read from the last one and not written.
    const int64 first = base + threadIdx.y * FOUR;
    float4 *row[FOUR];
#pragma unroll
    for (int r = 0; r < FOUR; r++) row[r] = (float4 *)(a + smaller(first + r, rows - 1) * as) + threadIdx.x;
    const real *factors = w + FOUR * cols * threadIdx.x;
    float sum[FOUR][C] = {};
    for (int64 k = FOUR * threadIdx.x; k < hidden; k += FOUR * blockDim.x, factors += FOUR * cols * blockDim.x) {
      float4 v[FOUR], factor[C], bias = float4{0, 0, 0, 0};
#pragma unroll
      for (int r = 0; r < FOUR; r++) v[r] = *row[r];
      read_quad<C, LEAST>(factor, factors, cols);
      if (F != NONE && b) bias = *(const float4 *)(b + k);
#pragma unroll
      for (int r = 0; r < FOUR; r++) {
#pragma unroll
        for (int q = 0; q < FOUR; q++) {
          float x = (&v[r].x)[q];
          if (F != NONE) (&v[r].x)[q] = x = activation(F, x + (&bias.x)[q]);
#pragma unroll
          for (int j = 0; j < C; j++) sum[r][j] += x * element(factor, q * C + j);
        }
        if (F != NONE && first + r < rows) *row[r] = v[r];
        row[r] += blockDim.x;
      }
    }
#pragma unroll
    for (int r = 0; r < FOUR; r++)
#pragma unroll
      for (int j = 0; j < C; j++) {
        if (j >= LEAST && j >= cols) continue;
        float v = sum[r][j];
        for (int d = blockDim.x / 2; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d, blockDim.x);
        if (threadIdx.x == 0 && first + r < rows) {
          if (c) v += c[j];
          real *o = out + (first + r) * os + j;
          *o = add ? *o + v : v;
        }
      }
  }
}

#define OUTPUT_FORWARD_WIDE(name, C, LEAST, F, B)                                                                                       \
  KERNEL_WIDE(name, B)(real *a, int64 as, const real *b, int64 bs, const real *w, int64 ws, const real *c, int64 cs, int64 rows,      \
                       int64 hidden, real *out, int64 os, int64 add) {                                                           \
    output_forward_wide<C, LEAST, F>(a, as, b, w, ws, c, rows, hidden, out, os, add);                                                       \
  }                                                                                                                              \
  EXPORT(name)
