// The parts that output_backward.cu and output_digits.cu share: the results, and the sums over the
// rows of the activations a and the scores' gradient d.
#pragma once
#include "activations.cuh"

// The results; results with address 0 are omitted.
struct Gradients {
  real *bias, *out_bias;
  int64 add_sums;
  real *g;
  int64 g_stride, add_g;
};

// scores_sum adds the numbers of all threads with the same remainder modulo C, a power of two, to
// the thread of that number.
template <int C>
__device__ double scores_sum(double v) {
  __shared__ double part[256];
  int t = thread_of_block();
  part[t] = v;
  __syncthreads();
  for (int h = 128; h >= C; h >>= 1) {
    if (t < h) part[t] += part[t + h];
    __syncthreads();
  }
  v = part[t];
  __syncthreads();
  return v;
}

// gradient_sums adds the sums of the threads of column k, g[j] = sum a d[j] and g[C] = sum da, over
// the rows of a block and over the blocks, and the sums of the scores' gradients.
template <int C>
__device__ void gradient_sums(double *g, const real *__restrict__ d, int64 ds, int64 k, int64 lo, int64 hi, int64 hidden, int64 cols,
                              const Gradients &to, double *partial, unsigned *tickets) {
  const int64 parts = gridDim.y;
  double *scores = partial + parts * (cols + 1) * hidden;
  const int t = thread_of_block(), own = t % C;
  double score = 0;
  if (to.out_bias && blockIdx.x == 0) {
    if (own < cols)
      for (int64 i = lo + t / C; i < hi; i += 256 / C) score += d[i * ds + own];
    score = scores_sum<C>(score);
  }
#pragma unroll
  for (int j = 0; j <= C; j++) g[j] = rows_tree(g[j]);
  if (parts > 1) {
    if (threadIdx.y == 0 && k < hidden) {
#pragma unroll
      for (int j = 0; j < C; j++)
        if (j < cols) partial[(blockIdx.y * (cols + 1) + j) * hidden + k] = g[j];
      partial[(blockIdx.y * (cols + 1) + cols) * hidden + k] = g[C];
    }
    if (blockIdx.x == 0 && t < cols) scores[blockIdx.y * cols + t] = score;
    if (!last_block(&tickets[blockIdx.x], parts)) return;
#pragma unroll
    for (int j = 0; j <= C; j++) {
      int64 at = j < C ? j : cols;
      double sum = 0;
      if (k < hidden && at <= cols && (j == C || j < cols))
        for (int64 p = threadIdx.y; p < parts; p += blockDim.y) sum += __ldcg(&partial[(p * (cols + 1) + at) * hidden + k]);
      g[j] = rows_tree(sum);
    }
    if (to.out_bias && blockIdx.x == 0) {
      score = 0;
      if (own < cols)
        for (int64 p = t / C; p < parts; p += 256 / C) score += __ldcg(&scores[p * cols + own]);
      score = scores_sum<C>(score);
    }
  }
  if (threadIdx.y == 0 && k < hidden) {
#pragma unroll
    for (int j = 0; j < C; j++)
      if (to.g && j < cols) {
        real *o = to.g + k * to.g_stride + j;
        *o = (real)(to.add_g ? *o + g[j] : g[j]);
      }
    if (to.bias) to.bias[k] = (real)(to.add_sums ? to.bias[k] + g[C] : g[C]);
  }
  if (to.out_bias && blockIdx.x == 0 && t < cols) to.out_bias[t] = (real)(to.add_sums ? to.out_bias[t] + score : score);
}

// over_warp returns the sum over the threads of a warp with the same remainder modulo WIDTH to the
// first WIDTH threads.
template <int WIDTH> __device__ inline double over_warp(double v) {
#pragma unroll
  for (int step = 16; step >= WIDTH; step >>= 1) v += __shfl_down_sync(0xffffffffu, v, step);
  return v;
}

// finish_sums adds sums of N consecutive columns over the rows of a block to the sums of the other
// blocks, and the sums of the scores' gradients. The thread's sum v[n] belongs to element (column +
// n, j) of g or, for j = cols, to the bias; mine says whether the thread has sums. d has cols <= C
// columns without gaps.
template <int C, int N>
__device__ void finish_sums(double (&v)[N], bool mine, int64 j, int64 column, const real *__restrict__ d, int64 cols, int64 lo, int64 hi,
                            int64 hidden, const Gradients &to, double *partial, unsigned *tickets) {
  enum { WIDE = C > 8 ? 16 : C > 4 ? 8 : C > 2 ? 4 : C }; // a power of two
  const int64 parts = gridDim.y;
  double *scores = partial + parts * (cols + 1) * hidden;
  const int t = thread_of_block(), own = t % WIDE;
  double score = 0;
  if (to.out_bias && blockIdx.x == 0) {
    for (int64 i = lo + t / WIDE; i < hi && own < cols; i += 256 / WIDE) score += d[i * cols + own];
    score = scores_sum<WIDE>(score);
  }
  if (parts > 1) {
#pragma unroll
    for (int n = 0; n < N; n++)
      if (mine) partial[(blockIdx.y * (cols + 1) + j) * hidden + column + n] = v[n];
    if (blockIdx.x == 0 && t < cols) scores[blockIdx.y * cols + t] = score;
    if (!last_block(&tickets[blockIdx.x], parts)) return;
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = 0;
    for (int64 p = 0; p < parts && mine; p++)
#pragma unroll
      for (int n = 0; n < N; n++) v[n] += __ldcg(&partial[(p * (cols + 1) + j) * hidden + column + n]);
    if (to.out_bias && blockIdx.x == 0) {
      score = 0;
      for (int64 p = t / WIDE; p < parts && own < cols; p += 256 / WIDE) score += __ldcg(&scores[p * cols + own]);
      score = scores_sum<WIDE>(score);
    }
  }
#pragma unroll
  for (int n = 0; n < N; n++) {
    if (mine && j < cols && to.g) {
      real *o = to.g + (column + n) * to.g_stride + j;
      *o = (real)(to.add_g ? *o + v[n] : v[n]);
    }
    if (mine && j == cols && to.bias) to.bias[column + n] = (real)(to.add_sums ? to.bias[column + n] + v[n] : v[n]);
  }
  if (to.out_bias && blockIdx.x == 0 && t < cols) to.out_bias[t] = (real)(to.add_sums ? to.out_bias[t] + score : score);
}
