// Conversions: bytes and float64 to the elements' type, results to float64, and coefficients from
// float64.
#include "common.cuh"

KERNEL(widen)(real *to, int64 ts, const unsigned char *from, double scale, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      to[i * ts + j] = (real)(scale * from[i * cols + j]);
}
EXPORT(widen)

KERNEL(round_to)(real *to, int64 ts, const double *from, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      to[i * ts + j] = (real)from[i * cols + j];
}
EXPORT(round_to)

KERNEL(pack)(double *to, const real *const *from, int64 n) {
  for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64)gridDim.x * blockDim.x) to[i] = *from[i];
}
EXPORT(pack)

KERNEL(unpack)(const double *from, real *const *to, int64 n) {
  for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64)gridDim.x * blockDim.x) *to[i] = (real)from[i];
}
EXPORT(unpack)
