// Operands of products on tensor cores: bytes as bfloat16, which is exact, and matrices as sums of
// two or three bfloat16 terms.
#include "terms.cuh"

KERNEL(widen_bf16)(bfloat16 *to, int64 ts, const unsigned char *from, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      to[i * ts + j] = rounded((float)from[i * cols + j]);
}
EXPORT(widen_bf16)

KERNEL(split_bf16)(const real *b, int64 bs, TERMS, int64 rows, int64 cols) {
  Terms to = TERMS_OF;
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      split(to, i, j, (float)b[i * bs + j]);
}
EXPORT(split_bf16)
