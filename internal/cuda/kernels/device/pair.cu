// One operation on two matrices whose rows or columns may be repeated, copies, and the outer
// product.
#include "common.cuh"

enum { ADD, SUB, MUL, NEG, COPY };

// A distance of 0 repeats a row or a column. NEG and COPY do not read y.
KERNEL(pair)(int64 op, const real *x, int64 xrow, int64 xcol, const real *y, int64 yrow, int64 ycol, real *out, int64 os,
             int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y) {
      real a = x[i * xrow + j * xcol], b = op < NEG ? y[i * yrow + j * ycol] : 0, r;
      switch (op) {
      case ADD: r = a + b; break;
      case SUB: r = a - b; break;
      case MUL: r = a * b; break;
      case NEG: r = -a; break;
      default: r = a;
      }
      out[i * os + j] = r;
    }
}
EXPORT(pair)

KERNEL(copy)(real *to, int64 ts, const real *from, int64 fs, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      to[i * ts + j] = from[i * fs + j];
}
EXPORT(copy)

// out += alpha x^T y.
KERNEL(rank_one)(double alpha, const real *x, int64 xs, const real *y, int64 ys, real *out, int64 os, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x) {
    real b = (real)alpha * y[j];
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      out[i * os + j] += x[i] * b;
  }
}
EXPORT(rank_one)
