// Sums over rows, column by column, in float64: each block sums a part of the rows of up to 32
// columns, and the last block sums the parts.
#pragma once
#include "common.cuh"

// parts_sum adds the sums of the parts of the rows, which the threads with threadIdx.y == 0 hold,
// and writes the results.
__device__ inline void parts_sum(double sum, int64 j, int64 cols, double alpha, real *out, int64 add, double *partial, unsigned *tickets) {
  if (gridDim.y > 1) {
    if (threadIdx.y == 0 && j < cols) partial[blockIdx.y * cols + j] = sum;
    if (!last_block(&tickets[blockIdx.x], gridDim.y)) return;
    sum = 0;
    if (j < cols) {
#pragma unroll 4
      for (int64 p = threadIdx.y; p < gridDim.y; p += blockDim.y) sum += __ldcg(&partial[p * cols + j]);
    }
    sum = rows_tree(sum);
  }
  if (threadIdx.y == 0 && j < cols) {
    sum *= alpha;
    out[j] = (real)(add ? out[j] + sum : sum);
  }
}

template <class Value>
__device__ void column_sums_of(Value value, int64 rows, int64 cols, double alpha, real *out, int64 add, double *partial,
                               unsigned *tickets) {
  int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x;
  int64 each = (rows + gridDim.y - 1) / gridDim.y;
  int64 lo = blockIdx.y * each, hi = smaller(lo + each, rows);
  double sum = 0;
  if (j < cols) {
#pragma unroll 4
    for (int64 i = lo + threadIdx.y; i < hi; i += blockDim.y) sum += value(i, j);
  }
  parts_sum(rows_tree(sum), j, cols, alpha, out, add, partial, tickets);
}
