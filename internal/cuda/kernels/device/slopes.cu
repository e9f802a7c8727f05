// d = f'(a) d, in place or quantized into terms or digits, with or without the sums of d's columns.
#include "activations.cuh"
#include "columns.cuh"
#include "digits.cuh"
#include "terms.cuh"

// keep writes d; terms that are given are written too.
template <int F>
__device__ void activation_grad(const real *__restrict__ a, int64 as, real *d, int64 ds, bool keep, const Terms &terms, int64 rows,
                                int64 cols) {
  int64 step = (int64)gridDim.y * blockDim.y;
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += 4 * step) {
      real v[4], w[4];
#pragma unroll
      for (int u = 0; u < 4; u++)
        if (i + u * step < rows) v[u] = a[(i + u * step) * as + j], w[u] = d[(i + u * step) * ds + j];
#pragma unroll
      for (int u = 0; u < 4; u++)
        if (i + u * step < rows) {
          const real back = slope(F, v[u]) * w[u];
          split(terms, i + u * step, j, (float)back);
          if (keep) d[(i + u * step) * ds + j] = back;
        }
    }
}

#define SLOPES(name, sums, F)                                                                                  \
  KERNEL(name)(const real *a, int64 as, real *d, int64 ds, int64 keep, TERMS, int64 rows, int64 cols) {        \
    activation_grad<F>(a, as, d, ds, keep, TERMS_OF, rows, cols);                                              \
  }                                                                                                            \
  EXPORT(name)                                                                                                 \
  KERNEL(sums)(const real *a, int64 as, real *d, int64 ds, int64 keep, TERMS, int64 rows, int64 cols,          \
               real *out, int64 os, int64 add, double *partial, unsigned *tickets) {                           \
    const Terms terms = TERMS_OF;                                                                              \
    column_sums_of(                                                                                            \
        [=](int64 i, int64 j) {                                                                                \
          real v = slope(F, a[i * as + j]) * d[i * ds + j];                                                    \
          split(terms, i, j, (float)v);                                                                        \
          if (keep) d[i * ds + j] = v;                                                                         \
          return (double)v;                                                                                    \
        },                                                                                                     \
        rows, cols, 1, out, add, partial, tickets);                                                            \
  }                                                                                                            \
  EXPORT(sums)

SLOPES(sigmoid_grad, sigmoid_grad_sums, SIGMOID)
SLOPES(tanh_grad, tanh_grad_sums, TANH)
SLOPES(relu_grad, relu_grad_sums, RELU)

#ifdef PPAL_F32
// Digits belong to float32 plans. The sums are omitted if out is 0.
KERNEL_WIDE(slope_digits, 3)(int64 f, const real *a, int64 as, real *d, int64 ds, int64 keep, DIGITS, int64 rows, int64 cols, real *out,
                     int64 os, int64 add, double *partial, unsigned *tickets) {
  double sum = 0;
  auto value = [&](int64 i, int64 j) { return (float)(slope(f, a[i * as + j]) * d[i * ds + j]); };
  auto first = [&](int64 i, int64 j) {
    float v = value(i, j);
    sum += v;
    return v;
  };
  quantize_columns(first, value, [&](int64 i, int64 j, float v) { d[i * ds + j] = v; }, keep, rows, cols, DIGITS_OF);
  if (!out) return;
  const int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x;
  parts_sum(rows_tree(sum), j, cols, 1, out, add, partial, tickets);
}
EXPORT(slope_digits)
#endif
