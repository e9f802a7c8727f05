// Normalization of ranges of columns, and its derivative: plan.Normalize. Means and variances are in
// float64. A range has blockDim.x threads: a power of two up to 32, or the whole block.
#include "common.cuh"

// range_sum returns the sum over the threads of a range to all of them.
__device__ inline double range_sum(double v) {
  __shared__ double sums[256];
  if (blockDim.x > 32)
    v = block_sum(v);
  else
    for (int d = blockDim.x / 2; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d, blockDim.x);
  if (threadIdx.x == 0) sums[threadIdx.y] = v;
  __syncthreads();
  v = sums[threadIdx.y];
  __syncthreads(); // sums may be used again
  return v;
}

// EACH_RANGE loops over the ranges r; those at and beyond the number of ranges have no elements.
#define EACH_RANGE(r) for (int64 r = (int64)blockIdx.x * blockDim.y + threadIdx.y, end = rows * groups; r - threadIdx.y < end; r += (int64)gridDim.x * blockDim.y)
// RANGE_ELEMENTS loops over a thread's elements of range r.
#define RANGE_ELEMENTS(k) for (int64 k = r < end ? threadIdx.x : size; k < size; k += blockDim.x)
#define RANGE_AT(matrix, stride) ((matrix) + r / groups * (stride) + r % groups * size)

KERNEL(normalize)(real *out, int64 os, const real *__restrict__ in, int64 is, int64 rows, int64 groups, int64 size, double epsilon) {
  EACH_RANGE(r) {
    const real *x = RANGE_AT(in, is);
    real *y = RANGE_AT(out, os);
    double sum = 0, squares = 0;
#pragma unroll 4
    RANGE_ELEMENTS(k) sum += x[k];
    const double mean = range_sum(sum) / size;
#pragma unroll 4
    RANGE_ELEMENTS(k) squares += (x[k] - mean) * (x[k] - mean);
    const double inverse = 1 / sqrt(range_sum(squares) / size + epsilon);
#pragma unroll 4
    RANGE_ELEMENTS(k) y[k] = (real)((x[k] - mean) * inverse);
  }
}
EXPORT(normalize)

KERNEL(normalize_grad)(real *out, int64 os, const real *__restrict__ in, int64 is, const real *__restrict__ d, int64 ds, int64 rows,
                       int64 groups, int64 size, double epsilon) {
  EACH_RANGE(r) {
    const real *x = RANGE_AT(in, is), *dy = RANGE_AT(d, ds);
    real *dx = RANGE_AT(out, os);
    double sum = 0, first = 0, squares = 0, second = 0;
#pragma unroll 4
    RANGE_ELEMENTS(k) sum += x[k], first += dy[k];
    const double mean = range_sum(sum) / size;
    first = range_sum(first) / size;
#pragma unroll 4
    RANGE_ELEMENTS(k) {
      const double c = x[k] - mean;
      squares += c * c, second += dy[k] * c;
    }
    const double inverse = 1 / sqrt(range_sum(squares) / size + epsilon);
    second = range_sum(second) / size * inverse * inverse; // of d (x - mean): (x - mean) second = y mean(d y)
#pragma unroll 4
    RANGE_ELEMENTS(k) dx[k] = (real)((dy[k] - first - (x[k] - mean) * second) * inverse);
  }
}
EXPORT(normalize_grad)
