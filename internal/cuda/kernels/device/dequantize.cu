// The dequantization of integer sums, out = f(sums + 1 bias): kernels.Dequantize. There is one kernel
// for any matrices, and there are kernels for four columns a thread, with the numbers of the columns
// in registers and with the number of digits and the activation known to the compiler.
#include "activations.cuh"
#include "dequantize.cuh"

// The arguments of all kernels. Each block of indices has sums of sum_rows x (count width). x holds
// the data's rows, and b is the quantized matrix.
#define DEQUANTIZE                                                                                                               \
  (const int *sums, int64 sum_rows, DIGITS, int64 blocks, int64 inner, const signed char *x, int64 xs, const real *b, int64 row, \
   int64 column, real *out, int64 os, int64 rows, int64 cols, int64 add, int64 f, const real *bias, int64 bs)
#define DEQUANTIZE_OF                                                                                                            \
  sums, sum_rows, DIGITS_OF, blocks, inner, x, xs, b, row, column, out, os, rows, cols, add, bias

// dequantize_column writes the rows first, first + step, ... of column j.
template <int S>
__device__ void dequantize_column(const int *sums, int64 sum_rows, const Digits &d, int64 blocks, int64 inner, const signed char *x, int64 xs,
                                  const real *b, int64 row, int64 column, real *out, int64 os, int64 rows, int64 j, int64 first, int64 step,
                                  int64 add, int f, const real *bias) {
  for (int64 i = first; i < rows; i += step) {
    double sum = 0;
    for (int64 k = 0; k < blocks; k++) {
      const double unit = d.units[k * d.width + j];
      if (unit != unit) {
        sum += numbers_sum(x + i * xs, b + j * column, row, k * d.length, smaller((k + 1) * d.length, inner), d.scale);
        continue;
      }
      const int *own = sums + (k * sum_rows + i) * S * d.width + j;
      int64 total = 0;
#pragma unroll
      for (int s = 0; s < S; s++) total = total * (int64)base + own[s * d.width];
      sum = plus(sum, unit * (double)(total + d.offsets[k * d.width + j]));
    }
    real z = (real)(float)sum;
    if (add) z += out[i * os + j];
    if (f >= 0) z = activation(f, z + bias[j]);
    out[i * os + j] = z;
  }
}

// any is the kernel for any matrices.
template <int S>
__device__ void any(const int *sums, int64 sum_rows, const Digits &d, int64 blocks, int64 inner, const signed char *x, int64 xs, const real *b,
                    int64 row, int64 column, real *out, int64 os, int64 rows, int64 cols, int64 add, const real *bias, int f) {
  const int64 first = (int64)blockIdx.y * blockDim.y + threadIdx.y, step = (int64)gridDim.y * blockDim.y;
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    dequantize_column<S>(sums, sum_rows, d, blocks, inner, x, xs, b, row, column, out, os, rows, j, first, step, add, f, bias);
}

enum { WIDE = 4, NONE = -1 }; // columns of a thread; no activation and no bias

// A Part is what a thread reads of one block of indices for R rows of four columns. The units are
// NaN where a column has no digits.
template <int S, int R> struct Part {
  int4 digit[R][S];
  double2 unit[2];
  longlong2 offset[2];
};

template <int S, int R>
__device__ inline void read_columns(Part<S, R> *p, const Digits &d, int64 at) {
#pragma unroll
  for (int c = 0; c < 2; c++) p->unit[c] = ((const double2 *)(d.units + at))[c], p->offset[c] = ((const longlong2 *)(d.offsets + at))[c];
}

template <int S, int R>
__device__ inline void read_digits(Part<S, R> *p, const int4 *own, int64 quads, int64 step, int64 rows) {
#pragma unroll
  for (int r = 0; r < R; r++)
#pragma unroll
    for (int s = 0; s < S; s++)
      if (r * step < rows) p->digit[r][s] = own[(r * step * S + s) * quads];
}

// term is the part's number of row r and column c.
template <int S, int R> __device__ inline double term(const Part<S, R> &p, int r, int c) {
  int64 total = (&p.offset[c / 2].x)[c % 2];
  if (S == 3) total += (int64)(&p.digit[r][0].x)[c] * 64516 + (int64)(&p.digit[r][1].x)[c] * 254 + (&p.digit[r][S - 1].x)[c];
  else total += (int64)(&p.digit[r][0].x)[c] * 254 + (&p.digit[r][1].x)[c];
  return (&p.unit[c / 2].x)[c % 2] * (double)total;
}

// four is for matrices with multiples of four columns that are not added to: a thread takes four
// columns, and R rows and B blocks of indices at a time, whose loads overlap. B is 0 if there is one
// block: then the thread reads the columns' units and offsets once. Totals and sums are those of
// dequantize_column, in the same order.
template <int S, int F, int R, int B>
__device__ void four(const int *__restrict__ sums, int64 sum_rows, const Digits &d, int64 blocks, int64 inner, const signed char *x, int64 xs,
                     const real *b, int64 row, int64 column, real *out, int64 os, int64 rows, int64 cols, int64 add, const real *bias) {
  const int64 j = ((int64)blockIdx.x * blockDim.x + threadIdx.x) * WIDE;
  const int64 first = (int64)blockIdx.y * blockDim.y + threadIdx.y, step = (int64)gridDim.y * blockDim.y;
  if (j >= cols) return;
  const int64 quads = d.width / WIDE, block_step = sum_rows * S * quads;
  const int4 *own = (const int4 *)(sums + first * S * d.width + j);
  real *to = out + first * os + j;
  real shift[WIDE];
#pragma unroll
  for (int c = 0; c < WIDE; c++) shift[c] = F == NONE ? 0 : bias[j + c];
  Part<S, R> parts[B ? B : 1];
  if (!B) read_columns(&parts[0], d, j);
  unsigned without = 0; // bit c: column c has no digits
  for (int64 i = first; i < rows; i += R * step, own += R * step * S * quads, to += R * step * os) {
    double sum[R][WIDE] = {};
    const int4 *part = own;
    for (int64 k = 0; k < (B ? blocks : 1); k += B ? B : 1) {
#pragma unroll
      for (int n = 0; n < (B ? B : 1); n++, part += block_step)
        if (k + n < blocks) {
          read_digits(&parts[n], part, quads, step, rows - i);
          if (B) read_columns(&parts[n], d, (k + n) * d.width + j);
        }
#pragma unroll
      for (int n = 0; n < (B ? B : 1); n++)
        if (k + n < blocks)
#pragma unroll
          for (int r = 0; r < R; r++)
            if (r * step < rows - i)
#pragma unroll
              for (int c = 0; c < WIDE; c++) sum[r][c] = plus(sum[r][c], term(parts[n], r, c));
    }
#pragma unroll
    for (int r = 0; r < R; r++)
      if (r * step < rows - i) {
        float4 z;
#pragma unroll
        for (int c = 0; c < WIDE; c++) {
          if (sum[r][c] != sum[r][c]) without |= 1u << c;
          const real v = (real)(float)sum[r][c];
          (&z.x)[c] = F == NONE ? v : activation(F, v + shift[c]);
        }
        *(float4 *)(to + r * step * os) = z;
      }
  }
  for (int c = 0; c < WIDE; c++)
    if (without >> c & 1)
      dequantize_column<S>(sums, sum_rows, d, blocks, inner, x, xs, b, row, column, out, os, rows, j + c, first, step, 0, F, bias);
}

KERNEL_WIDE(dequantize_2, 3) DEQUANTIZE { any<2>(DEQUANTIZE_OF, (int)f); }
EXPORT(dequantize_2)
KERNEL_WIDE(dequantize_3, 3) DEQUANTIZE { any<3>(DEQUANTIZE_OF, (int)f); }
EXPORT(dequantize_3)

// Names: the number of digits, then the activation, or blocks for several blocks of indices.
KERNEL_WIDE(dequantize_2_blocks, 2) DEQUANTIZE { four<2, NONE, 1, 2>(DEQUANTIZE_OF); }
EXPORT(dequantize_2_blocks)
KERNEL_WIDE(dequantize_3_blocks, 2) DEQUANTIZE { four<3, NONE, 1, 2>(DEQUANTIZE_OF); }
EXPORT(dequantize_3_blocks)
KERNEL_WIDE(dequantize_2_none, 2) DEQUANTIZE { four<2, NONE, 2, 0>(DEQUANTIZE_OF); }
EXPORT(dequantize_2_none)
KERNEL_WIDE(dequantize_3_none, 2) DEQUANTIZE { four<3, NONE, 2, 0>(DEQUANTIZE_OF); }
EXPORT(dequantize_3_none)
KERNEL_WIDE(dequantize_2_sigmoid, 2) DEQUANTIZE { four<2, SIGMOID, 2, 0>(DEQUANTIZE_OF); }
EXPORT(dequantize_2_sigmoid)
KERNEL_WIDE(dequantize_3_sigmoid, 2) DEQUANTIZE { four<3, SIGMOID, 2, 0>(DEQUANTIZE_OF); }
EXPORT(dequantize_3_sigmoid)
KERNEL_WIDE(dequantize_2_relu, 2) DEQUANTIZE { four<2, RELU, 2, 0>(DEQUANTIZE_OF); }
EXPORT(dequantize_2_relu)
KERNEL_WIDE(dequantize_3_relu, 2) DEQUANTIZE { four<3, RELU, 2, 0>(DEQUANTIZE_OF); }
EXPORT(dequantize_3_relu)
