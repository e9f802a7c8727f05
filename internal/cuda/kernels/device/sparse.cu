// Products of a sparse matrix, by its rows' entries, with a dense one: kernels.SparseProduct.
#include "common.cuh"

// entries_sum adds entries first, first + step, ... < last times column j of b.
__device__ inline double entries_sum(const int *columns, const real *values, const real *__restrict__ b, int64 bs, int64 j,
                                     int64 first, int64 last, int64 step) {
  double sum = 0;
#pragma unroll 4
  for (int64 e = first; e < last; e += step) {
    double x = b[columns[e] * bs + j];
    sum += values ? values[e] * x : x;
  }
  return sum;
}

// Short rows: threads x are columns of b, y the entries of a row, z rows; x and y lie in one warp.
KERNEL(sparse_rows)(const int64 *starts, const int *columns, const real *values, int64 rows, const real *b, int64 bs, int64 cols,
                    real *out, int64 os, int64 add) {
  int64 j = (int64)blockIdx.y * blockDim.x + threadIdx.x;
  int width = blockDim.x * blockDim.y;
  for (int64 base = (int64)blockIdx.x * blockDim.z; base < rows; base += (int64)gridDim.x * blockDim.z) {
    int64 i = base + threadIdx.z;
    double sum = 0;
    if (i < rows && j < cols) sum = entries_sum(columns, values, b, bs, j, starts[i] + threadIdx.y, starts[i + 1], blockDim.y);
    for (int d = blockDim.y / 2; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d * blockDim.x, width);
    if (threadIdx.y == 0 && i < rows && j < cols) {
      real *o = out + i * os + j;
      *o = (real)(add ? *o + sum : sum);
    }
  }
}
EXPORT(sparse_rows)

// Long rows: a part of a row's entries for each block, the last block adds the parts.
KERNEL(sparse_long_rows)(const int64 *starts, const int *columns, const real *values, int64 rows, const real *b, int64 bs, int64 cols,
                         real *out, int64 os, int64 add, double *partial, unsigned *tickets) {
  int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x, parts = gridDim.y;
  for (int64 i = blockIdx.z; i < rows; i += gridDim.z) {
    int64 each = (starts[i + 1] - starts[i] + parts - 1) / parts;
    int64 lo = starts[i] + blockIdx.y * each, hi = smaller(lo + each, starts[i + 1]);
    double sum = j < cols ? entries_sum(columns, values, b, bs, j, lo + threadIdx.y, hi, blockDim.y) : 0;
    sum = rows_tree(sum);
    if (parts > 1) {
      if (threadIdx.y == 0 && j < cols) partial[(i * parts + blockIdx.y) * cols + j] = sum;
      if (!last_block(&tickets[i * gridDim.x + blockIdx.x], parts)) continue;
      sum = 0;
      if (j < cols)
        for (int64 p = threadIdx.y; p < parts; p += blockDim.y) sum += __ldcg(&partial[(i * parts + p) * cols + j]);
      sum = rows_tree(sum);
    }
    if (threadIdx.y == 0 && j < cols) {
      real *o = out + i * os + j;
      *o = (real)(add ? *o + sum : sum);
    }
  }
}
EXPORT(sparse_long_rows)
