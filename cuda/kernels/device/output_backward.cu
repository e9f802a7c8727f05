// The gradients around a narrow factor, from the activations a and the scores' gradient d: kernels.OutputBackward.
#include "activations.cuh"

// What is to be computed; 0 is nothing.
struct Gradients {
  real *da;
  int64 da_stride;
  real *bias, *out_bias;
  int64 add_sums;
  real *g;
  int64 g_stride, add_g;
};

// column_part sums a thread's rows lo + threadIdx.y, ... < hi of column k: g[j] = sum a d[j], g[C] = sum da. w_row is 0 from cols on, and
// g without meaning.
template <int C>
__device__ void column_part(int f, const real *a, int64 as, const real *__restrict__ d, int64 ds, const real *w_row, int64 cols,
                            const Gradients &to, int64 k, int64 lo, int64 hi, double *g) {
  const int U = 4; // rows at a time: their loads are under way together
  real sum[C] = {};
  double bias = 0;
  const int64 first = lo + threadIdx.y, step = blockDim.y;
  const real *activations = a ? a + first * as + k : 0, *scores = d + first * ds;
  real *back_to = to.da ? to.da + first * to.da_stride + k : 0;
  for (int64 i = first; i < hi; i += U * step) {
    real v[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
      v[u] = a && i + u * step < hi ? *activations : 0;
      activations += step * as;
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
      if (i + u * step >= hi) break;
      real back = 0;
#pragma unroll
      for (int j = 0; j < C; j++) {
        real x = scores[smaller(j, cols - 1)];
        back += x * w_row[j];
        sum[j] += v[u] * x;
      }
      scores += step * ds;
      if (back_to) {
        back *= slope(f, v[u]);
        *back_to = back;
        back_to += step * to.da_stride;
        bias += back;
      }
    }
  }
#pragma unroll
  for (int j = 0; j < C; j++) g[j] = sum[j];
  g[C] = bias;
}

// scores_sum adds the numbers of the threads with one remainder modulo C, the columns of d, to the thread of that number.
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

template <int C>
__device__ void output_backward(int64 f, const real *a, int64 as, const real *__restrict__ d, int64 ds, const real *__restrict__ w,
                                int64 ws, int64 transposed, int64 rows, int64 hidden, int64 cols, Gradients to, double *partial,
                                unsigned *tickets) {
  int64 k = (int64)blockIdx.x * blockDim.x + threadIdx.x, parts = gridDim.y;
  int64 each = (rows + parts - 1) / parts, lo = blockIdx.y * each, hi = smaller(lo + each, rows);
  double *scores = partial + parts * (cols + 1) * hidden;
  int t = thread_of_block(), own = t % C;
  double g[C + 1] = {};
  if (k < hidden) {
    real w_row[C];
#pragma unroll
    for (int j = 0; j < C; j++) w_row[j] = w && j < cols ? w[transposed ? j * ws + k : k * ws + j] : 0;
    column_part<C>(f, a, as, d, ds, w_row, cols, to, k, lo, hi, g);
  }
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

#define OUTPUT_BACKWARD(name, C, B)                                                                                                 \
  KERNEL_WIDE(name, B)(int64 f, const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,   \
               int64 das, int64 rows, int64 hidden, int64 cols, real *bias, int64 bs, real *out_bias, int64 obs, int64 add_sums, \
               real *g, int64 gs, int64 add_g, double *partial, unsigned *tickets) {                                             \
    Gradients to = {da, das, bias, out_bias, add_sums, g, gs, add_g};                                                            \
    output_backward<C>(f, a, as, d, ds, w, ws, transposed, rows, hidden, cols, to, partial, tickets);                            \
  }                                                                                                                              \
  EXPORT(name)

OUTPUT_BACKWARD(output_backward_1, 1, 3)
OUTPUT_BACKWARD(output_backward_2, 2, 3)
OUTPUT_BACKWARD(output_backward_4, 4, sizeof(real) == 4 ? 3 : 2)
OUTPUT_BACKWARD(output_backward_8, 8, 2)
OUTPUT_BACKWARD(output_backward_16, 16, 1)
