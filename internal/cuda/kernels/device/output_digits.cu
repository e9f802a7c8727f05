// The pass of output_backward.cu with the activations' gradient quantized into digits. A block of
// threads reads a block of rows twice: for the sums and the largest magnitudes, and for the digits.
#include "digits.cuh"
#include "output_backward.cuh"

template <int C>
__device__ void output_digits(int64 f, const real *a, int64 as, const real *__restrict__ d, int64 ds, const real *__restrict__ w, int64 ws,
                              int64 transposed, real *da, int64 das, bool keep, const Digits &digits, int64 rows, int64 hidden, int64 cols,
                              Gradients to, double *partial, unsigned *tickets) {
  const int64 k = (int64)blockIdx.x * blockDim.x + threadIdx.x, lo = blockIdx.y * digits.length;
  double bias = 0;
  real w_row[C], sum[C] = {};
#pragma unroll
  for (int j = 0; j < C; j++) w_row[j] = k < hidden && j < cols ? w[transposed ? j * ws + k : k * ws + j] : 0;
  auto value = [&](int64 i, int64) {
    real back = 0;
#pragma unroll
    for (int j = 0; j < C; j++) back += d[i * ds + smaller(j, cols - 1)] * w_row[j];
    return (float)(back * slope(f, a[i * as + k]));
  };
  auto first = [&](int64 i, int64) {
    real back = 0, v = a[i * as + k];
#pragma unroll
    for (int j = 0; j < C; j++) {
      real x = d[i * ds + smaller(j, cols - 1)];
      back += x * w_row[j];
      sum[j] += v * x;
    }
    back *= slope(f, v);
    bias += back;
    return (float)back;
  };
  quantize_columns(first, value, [&](int64 i, int64, float v) { da[i * das + k] = v; }, keep, rows, hidden, digits);
  double g[C + 1];
#pragma unroll
  for (int j = 0; j < C; j++) g[j] = sum[j];
  g[C] = bias;
  gradient_sums<C>(g, d, ds, k, lo, smaller(lo + digits.length, rows), hidden, cols, to, partial, tickets);
}

#define OUTPUT_DIGITS(name, C, B)                                                                                                \
  KERNEL_WIDE(name, B)(int64 f, const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,   \
               int64 das, int64 keep, DIGITS, int64 rows, int64 hidden, int64 cols, real *bias, int64 bs, real *out_bias,        \
               int64 obs, int64 add_sums, real *g, int64 gs, int64 add_g, double *partial, unsigned *tickets) {                  \
    Gradients to = {bias, out_bias, add_sums, g, gs, add_g};                                                                     \
    output_digits<C>(f, a, as, d, ds, w, ws, transposed, da, das, keep, DIGITS_OF, rows, hidden, cols, to, partial, tickets);    \
  }                                                                                                                              \
  EXPORT(name)

OUTPUT_DIGITS(output_digits_1, 1, 2)
OUTPUT_DIGITS(output_digits_2, 2, 2)
OUTPUT_DIGITS(output_digits_4, 4, 2)
OUTPUT_DIGITS(output_digits_8, 8, 2)
OUTPUT_DIGITS(output_digits_16, 16, 1)
