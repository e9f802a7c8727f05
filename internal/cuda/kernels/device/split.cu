// Operands of products on tensor cores: bytes as bfloat16, which is exact, and matrices as sums of
// two or three bfloat16 terms.
#include "terms.cuh"

KERNEL(widen_bf16)(bfloat16 *to, int64 ts, const unsigned char *from, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      to[i * ts + j] = rounded((float)from[i * cols + j]);
}
EXPORT(widen_bf16)

// add_parts adds matrices of rows x cols, one after the other in memory, in order and in float64:
// out = out + sum_k part_k with add, else out = sum_k part_k.
KERNEL(add_parts)(const float *part, int64 count, real *out, int64 os, int64 rows, int64 cols, int64 add) {
  const int64 step = (int64)gridDim.x * blockDim.x, size = rows * cols;
  for (int64 e = (int64)blockIdx.x * blockDim.x + threadIdx.x; e < size; e += step) {
    real *to = out + e / cols * os + e % cols;
    double sum = 0;
    for (int64 k = 0; k < count; k++) sum += part[k * size + e];
    *to = (real)(add ? sum + *to : sum);
  }
}
EXPORT(add_parts)

KERNEL(split_bf16)(const real *b, int64 bs, TERMS, int64 rows, int64 cols) {
  Terms to = TERMS_OF;
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      split(to, i, j, (float)b[i * bs + j]);
}
EXPORT(split_bf16)
