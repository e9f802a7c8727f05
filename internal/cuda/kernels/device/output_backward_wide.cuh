// The pass of output_backward.cu for LEAST to C scores and multiples of four columns: a thread takes
// four columns and four rows at a time, with loads and stores of 128 bits, and the activation is
// known to the compiler. The sums over the rows have another order than in
// output_backward.cu.
#pragma once
#include "output_backward.cuh"
#include "wide.cuh"

enum { ROW_QUADS = 8, ROW_GROUPS = 32 }; // a block of threads has ROW_QUADS x ROW_GROUPS

template <int C, int LEAST, int F>
__device__ void output_backward_wide(const real *a, int64 as, const real *__restrict__ d, int64 ds, const real *__restrict__ w, int64 ws,
                                     int64 transposed, real *da, int64 das, int64 rows, int64 hidden, const Gradients &to, double *partial,
                                     unsigned *tickets) {
  __shared__ double sums_of[WARPS][ROW_QUADS][C + 1];
  const int64 cols = scores_of<C, LEAST>(ds); // the rows of d have no gaps
  const int t = thread_of_block(), warp = t / 32, lane = t % 32;
  const int64 k = ((int64)blockIdx.x * ROW_QUADS + threadIdx.x) * FOUR, parts = gridDim.y;
  const int64 each = (rows + parts * FOUR - 1) / (parts * FOUR) * FOUR; // d's parts begin at multiples of 16 bytes
  const int64 lo = smaller(blockIdx.y * each, rows), hi = smaller(lo + each, rows), end = k < hidden ? hi : lo;
  float weights[FOUR][C];
#pragma unroll
  for (int c = 0; c < FOUR; c++)
#pragma unroll
    for (int j = 0; j < C; j++) weights[c][j] = k < hidden && j < cols ? w[transposed ? j * ws + k + c : (k + c) * ws + j] : 0;

  float g[FOUR][C] = {};
  double bias[FOUR] = {};
  int64 i = lo + FOUR * threadIdx.y;
  const int64 step = FOUR * ROW_GROUPS;
  const int tiles = i + FOUR <= end ? (int)((end - FOUR - i) / step) + 1 : 0;
  const real *a_row = a + i * as + k, *d_row = d + i * cols;
  real *to_row = da + i * das + k;
  for (int n = tiles; n; n--, a_row += step * as, d_row += step * cols, to_row += step * das) {
    float4 activations[FOUR], scores[C];
#pragma unroll
    for (int u = 0; u < FOUR; u++) activations[u] = *(const float4 *)(a_row + u * as);
    read_quad<C, LEAST>(scores, d_row, cols);
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
  for (i += tiles * step; i < end; i++, a_row += as, d_row += cols, to_row += das) // the last rows, fewer than FOUR
#pragma unroll
    for (int c = 0; c < FOUR; c++) {
      const float v = a_row[c];
      float back = 0;
#pragma unroll
      for (int j = 0; j < C; j++) {
        const float score = j < LEAST || j < cols ? d_row[j] : 0;
        back += score * weights[c][j];
        g[c][j] += v * score;
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
  finish_sums<C, FOUR>(v, own && column < hidden && (e < cols || e == C), e < C ? e : cols, column, d, cols, lo, hi, hidden, to, partial,
                       tickets);
}

#define OUTPUT_BACKWARD_WIDE(name, C, LEAST, F, B)                                                                                      \
  KERNEL_WIDE(name, B)(const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,         \
                       int64 das, int64 rows, int64 hidden, real *bias, int64 bs, real *out_bias, int64 obs, int64 add_sums,     \
                       real *g, int64 gs, int64 add_g, double *partial, unsigned *tickets) {                                     \
    const Gradients to = {bias, out_bias, add_sums, g, gs, add_g};                                                               \
    output_backward_wide<C, LEAST, F>(a, as, d, ds, w, ws, transposed, da, das, rows, hidden, to, partial, tickets);                        \
  }                                                                                                                              \
  EXPORT(name)
