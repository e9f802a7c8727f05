// The gradients around a narrow factor, from the activations a and the scores' gradient d:
// kernels.OutputBackward.
#include "output_backward.cuh"
#include "terms.cuh"

// The places of the activations' gradient da and of its terms; both may be missing.
struct Back {
  real *da;
  int64 stride;
  Terms terms;
};

// column_part sums a thread's rows lo + threadIdx.y, ... < hi of column k: g[j] = sum a d[j], g[C]
// = sum da. For j >= cols, w_row[j] is 0 and g[j] is meaningless.
template <int C>
__device__ void column_part(int f, const real *a, int64 as, const real *__restrict__ d, int64 ds, const real *w_row, int64 cols,
                            const Back &to, int64 k, int64 lo, int64 hi, double *g) {
  const int U = 4; // rows at a time, so that their loads overlap
  real sum[C] = {};
  double bias = 0;
  const int64 first = lo + threadIdx.y, step = blockDim.y;
  const real *activations = a ? a + first * as + k : 0, *scores = d + first * ds;
  real *back_to = to.da ? to.da + first * to.stride + k : 0;
  const bool wanted = to.da || to.terms.first;
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
      if (wanted) {
        back *= slope(f, v[u]);
        bias += back;
        split(to.terms, i + u * step, k, (float)back);
        if (back_to) {
          *back_to = back;
          back_to += step * to.stride;
        }
      }
    }
  }
#pragma unroll
  for (int j = 0; j < C; j++) g[j] = sum[j];
  g[C] = bias;
}

template <int C>
__device__ void output_backward(int64 f, const real *a, int64 as, const real *__restrict__ d, int64 ds, const real *__restrict__ w,
                                int64 ws, int64 transposed, const Back &back, int64 rows, int64 hidden, int64 cols, Gradients to,
                                double *partial, unsigned *tickets) {
  int64 k = (int64)blockIdx.x * blockDim.x + threadIdx.x, parts = gridDim.y;
  int64 each = (rows + parts - 1) / parts, lo = blockIdx.y * each, hi = smaller(lo + each, rows);
  double g[C + 1] = {};
  if (k < hidden) {
    real w_row[C];
#pragma unroll
    for (int j = 0; j < C; j++) w_row[j] = w && j < cols ? w[transposed ? j * ws + k : k * ws + j] : 0;
    column_part<C>(f, a, as, d, ds, w_row, cols, back, k, lo, hi, g);
  }
  gradient_sums<C>(g, d, ds, k, lo, hi, hidden, cols, to, partial, tickets);
}

#define OUTPUT_BACKWARD(name, C, B)                                                                                                 \
  KERNEL_WIDE(name, B)(int64 f, const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,   \
               int64 das, TERMS, int64 rows, int64 hidden, int64 cols, real *bias, int64 bs, real *out_bias, int64 obs,          \
               int64 add_sums, real *g, int64 gs, int64 add_g, double *partial, unsigned *tickets) {                             \
    Gradients to = {bias, out_bias, add_sums, g, gs, add_g};                                                                     \
    output_backward<C>(f, a, as, d, ds, w, ws, transposed, Back{da, das, TERMS_OF}, rows, hidden, cols, to, partial, tickets);   \
  }                                                                                                                              \
  EXPORT(name)

OUTPUT_BACKWARD(output_backward_1, 1, 3)
OUTPUT_BACKWARD(output_backward_2, 2, 3)
OUTPUT_BACKWARD(output_backward_4, 4, sizeof(real) == 4 ? 3 : 2)
OUTPUT_BACKWARD(output_backward_8, 8, 2)
OUTPUT_BACKWARD(output_backward_16, 16, 1)
