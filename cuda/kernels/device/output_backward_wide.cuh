// The pass of output_backward.cu for a fixed number C of scores and multiples of four columns: a
// thread takes four columns and four rows at a time, with loads and stores of 128 bits, and
// the activation is known to the compiler. The sums over the rows have another order than in
// output_backward.cu.
#pragma once
#include "output_backward.cuh"
#include "wide.cuh"

enum { ROW_QUADS = 8, ROW_GROUPS = 32 }; // a block of threads has ROW_QUADS x ROW_GROUPS

template <int C, int F>
__device__ void output_backward_wide(const real *a, int64 as, const real *__restrict__ d, const real *__restrict__ w, int64 ws,
                                     int64 transposed, real *da, int64 das, int64 rows, int64 hidden, const Gradients &to, double *partial,
                                     unsigned *tickets) {
  __shared__ double sums_of[WARPS][ROW_QUADS][C + 1];
  const int t = thread_of_block(), warp = t / 32, lane = t % 32;
  const int64 k = ((int64)blockIdx.x * ROW_QUADS + threadIdx.x) * FOUR, parts = gridDim.y;
  const int64 each = (rows + parts * FOUR - 1) / (parts * FOUR) * FOUR; // d's parts begin at multiples of 16 bytes
  const int64 lo = smaller(blockIdx.y * each, rows), hi = smaller(lo + each, rows), end = k < hidden ? hi : lo;
  float weights[FOUR][C];
#pragma unroll
  for (int c = 0; c < FOUR; c++)
#pragma unroll
    for (int j = 0; j < C; j++) weights[c][j] = k < hidden ? w[transposed ? j * ws + k + c : (k + c) * ws + j] : 0;

  float g[FOUR][C] = {};
  double bias[FOUR] = {};
  int64 i = lo + FOUR * threadIdx.y;
  const int64 step = FOUR * ROW_GROUPS;
  const int tiles = i + FOUR <= end ? (int)((end - FOUR - i) / step) + 1 : 0;
  const real *a_row = a + i * as + k, *d_row = d + i * C;
  real *to_row = da + i * das + k;
  for (int n = tiles; n; n--, a_row += step * as, d_row += step * C, to_row += step * das) {
    float4 activations[FOUR], scores[C]; // the rows of d have no gaps
#pragma unroll
    for (int u = 0; u < FOUR; u++) activations[u] = *(const float4 *)(a_row + u * as);
#pragma unroll
    for (int e = 0; e < C; e++) scores[e] = ((const float4 *)d_row)[e];
    float sum[FOUR];
#pragma unroll
    for (int u = 0; u < FOUR; u++) {
      float4 out;
#pragma unroll
      for (int c = 0; c < FOUR; c++) {
        const float v = (&activations[u].x)[c];
        float back = 0;
#pragma unroll
        for (int j = 0; j < C; j++) {
          back = j ? back + element(scores, u * C + j) * weights[c][j] : element(scores, u * C + j) * weights[c][j];
          g[c][j] += v * element(scores, u * C + j);
        }
        back *= slope(F, v);
        sum[c] = u ? sum[c] + back : back;
        (&out.x)[c] = back;
      }
      *(float4 *)(to_row + u * das) = out;
    }
#pragma unroll
    for (int c = 0; c < FOUR; c++) bias[c] += sum[c];
  }
  for (i += tiles * step; i < end; i++, a_row += as, d_row += C, to_row += das) // the last rows, fewer than FOUR
#pragma unroll
    for (int c = 0; c < FOUR; c++) {
      const float v = a_row[c];
      float back = 0;
#pragma unroll
      for (int j = 0; j < C; j++) {
        back += d_row[j] * weights[c][j];
        g[c][j] += v * d_row[j];
      }
      back *= slope(F, v);
      bias[c] += back;
      to_row[c] = back;
    }

  // The first threads each take one value of the four columns of a quad.
  const int quad = t / (C + 1), e = t % (C + 1);
  const bool own = t < ROW_QUADS * (C + 1);
  double v[FOUR] = {};
#pragma unroll
  for (int c = 0; c < FOUR; c++) {
#pragma unroll
    for (int j = 0; j <= C; j++) {
      const double sum = over_warp<ROW_QUADS>(j < C ? g[c][j % C] : bias[c]);
      if (lane < ROW_QUADS) sums_of[warp][lane][j] = sum;
    }
    __syncthreads();
    if (own)
      for (int u = 0; u < WARPS; u++) v[c] += sums_of[u][quad][e];
    __syncthreads();
  }
  const int64 column = ((int64)blockIdx.x * ROW_QUADS + quad) * FOUR;
  finish_sums<C, FOUR>(v, own && column < hidden, e, column, d, C, lo, hi, hidden, to, partial, tickets);
}

#define OUTPUT_BACKWARD_WIDE(name, C, F, B)                                                                                      \
  KERNEL_WIDE(name, B)(const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,         \
                       int64 das, int64 rows, int64 hidden, real *bias, int64 bs, real *out_bias, int64 obs, int64 add_sums,     \
                       real *g, int64 gs, int64 add_g, double *partial, unsigned *tickets) {                                     \
    const Gradients to = {bias, out_bias, add_sums, g, gs, add_g};                                                               \
    output_backward_wide<C, F>(a, as, d, w, ws, transposed, da, das, rows, hidden, to, partial, tickets);                        \
  }                                                                                                                              \
  EXPORT(name)
