// out = f(a + 1 b) w + 1 c for a narrow w, f in place: kernels.OutputForward.
#include "activations.cuh"

// blockDim.x threads, a power of two up to 32, take R rows at a time, so that an element of w is
// read once for R rows. C >= cols.
template <int C, int R>
__device__ void output_forward(real *a, int64 as, int64 f, const real *__restrict__ b, const real *__restrict__ w, int64 ws,
                               int64 transposed, const real *__restrict__ c, int64 rows, int64 hidden, int64 cols, real *out, int64 os,
                               int64 add) {
  const int64 row_step = transposed ? 1 : ws, col_step = transposed ? ws : 1;
  for (int64 base = (int64)blockIdx.x * blockDim.y * R; base < rows; base += (int64)gridDim.x * blockDim.y * R) {
    // Missing rows and columns are read from the last one and not written, so that the loop has no
    // conditions.
    const int64 first = base + threadIdx.y * R;
    real *row[R];
    const real *factors[C];
#pragma unroll
    for (int r = 0; r < R; r++) row[r] = a + smaller(first + r, rows - 1) * as + threadIdx.x;
#pragma unroll
    for (int j = 0; j < C; j++) factors[j] = w + threadIdx.x * row_step + smaller(j, cols - 1) * col_step;
    real sum[R][C] = {};
    for (int64 k = threadIdx.x; k < hidden; k += blockDim.x) {
      real v[R], factor[C];
#pragma unroll
      for (int r = 0; r < R; r++) v[r] = *row[r];
#pragma unroll
      for (int j = 0; j < C; j++) factor[j] = *factors[j], factors[j] += blockDim.x * row_step;
      if (f >= 0) {
        const real bias = b ? b[k] : 0;
        if (b) {
#pragma unroll
          for (int r = 0; r < R; r++) v[r] += bias;
        }
        activations<R>(f, v);
#pragma unroll
        for (int r = 0; r < R; r++)
          if (first + r < rows) *row[r] = v[r];
      }
#pragma unroll
      for (int r = 0; r < R; r++) {
        row[r] += blockDim.x;
#pragma unroll
        for (int j = 0; j < C; j++) sum[r][j] += v[r] * factor[j];
      }
    }
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int j = 0; j < C; j++) {
        real v = sum[r][j];
        for (int d = blockDim.x / 2; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d, blockDim.x);
        if (threadIdx.x == 0 && first + r < rows && j < cols) {
          if (c) v += c[j];
          real *o = out + (first + r) * os + j;
          *o = add ? *o + v : v;
        }
      }
  }
}

#define OUTPUT_FORWARD(name, C, R, B)                                                                                               \
  KERNEL_WIDE(name, B)(real *a, int64 as, int64 f, const real *b, int64 bs, const real *w, int64 ws, int64 transposed, const real *c,    \
               int64 cs, int64 rows, int64 hidden, int64 cols, real *out, int64 os, int64 add) {                                 \
    output_forward<C, R>(a, as, f, b, w, ws, transposed, c, rows, hidden, cols, out, os, add);                                   \
  }                                                                                                                              \
  EXPORT(name)

#define FEW (sizeof(real) == 4 ? 4 : 2)
OUTPUT_FORWARD(output_forward_1, 1, 4, FEW)
OUTPUT_FORWARD(output_forward_2, 2, 4, FEW)
OUTPUT_FORWARD(output_forward_4, 4, 4, FEW)
OUTPUT_FORWARD(output_forward_8, 8, 2, 2)
OUTPUT_FORWARD(output_forward_16, 16, 1, 2)
