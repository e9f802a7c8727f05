// Sums over an axis: plan.Sums.
#include "columns.cuh"

KERNEL(column_sums)(NUMBER(alpha), const real *w, int64 ws, const real *b, int64 bs, int64 rows, int64 cols, real *out,
                    int64 os, int64 add, double *partial, unsigned *tickets) {
  double alpha = NUMBER_OF(alpha);
  if (w)
    column_sums_of([=](int64 i, int64 j) { return (double)w[i] * (double)b[i * bs + j]; }, rows, cols, alpha, out,
                   add, partial, tickets);
  else
    column_sums_of([=](int64 i, int64 j) { return (double)b[i * bs + j]; }, rows, cols, alpha, out, add, partial,
                   tickets);
}
EXPORT(column_sums)

// A row has blockDim.x threads, a power of two up to 32.
KERNEL(row_sums)(const real *a, int64 as, int64 rows, int64 cols, real *out, int64 os, int64 add) {
  for (int64 base = (int64)blockIdx.x * blockDim.y; base < rows; base += (int64)gridDim.x * blockDim.y) {
    int64 i = base + threadIdx.y;
    double sum = 0;
    if (i < rows)
      for (int64 j = threadIdx.x; j < cols; j += blockDim.x) sum += a[i * as + j];
    for (int d = blockDim.x / 2; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d, blockDim.x);
    if (threadIdx.x == 0 && i < rows) out[i * os] = (real)(add ? out[i * os] + sum : sum);
  }
}
EXPORT(row_sums)

KERNEL(total_sum)(const real *a, int64 as, int64 rows, int64 cols, real *out, int64 os, int64 add, double *partial,
                  unsigned *tickets) {
  double sum = 0;
  for (int64 i = (int64)blockIdx.x * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.x * blockDim.y)
    for (int64 j = threadIdx.x; j < cols; j += blockDim.x) sum += a[i * as + j];
  sum = block_sum(sum);
  int t = thread_of_block();
  if (gridDim.x > 1) {
    if (t == 0) partial[blockIdx.x] = sum;
    if (!last_block(tickets, gridDim.x)) return;
    sum = block_sum((unsigned)t < gridDim.x ? __ldcg(&partial[t]) : 0);
  }
  if (t == 0) out[0] = (real)(add ? out[0] + sum : sum);
}
EXPORT(total_sum)
