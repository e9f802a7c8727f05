// Operands of products on tensor cores: bytes as bfloat16, which is exact, and matrices as sums of two or three bfloat16.
#include "common.cuh"

typedef unsigned short bfloat16; // the upper half of a float32

__device__ inline float widened(bfloat16 x) {
  union {
    unsigned bits;
    float number;
  } u;
  u.bits = (unsigned)x << 16;
  return u.number;
}

// rounded is the nearest, of two the even one.
__device__ inline bfloat16 rounded(float x) {
  union {
    float number;
    unsigned bits;
  } u;
  u.number = x;
  if (x != x) return 0x7fc0;
  return (bfloat16)((u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16);
}

KERNEL(widen_bf16)(bfloat16 *to, int64 ts, const unsigned char *from, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y)
      to[i * ts + j] = rounded((float)from[i * cols + j]);
}
EXPORT(widen_bf16)

// b = b1 + b2 + b3 up to the last one's rounding; without b3 up to that of b2. The rest of what is no number or infinite is 0.
KERNEL(split_bf16)(const real *b, int64 bs, bfloat16 *b1, bfloat16 *b2, bfloat16 *b3, int64 ts, int64 rows, int64 cols) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y) {
      float rest = (float)b[i * bs + j];
      bool number = rest - rest == 0;
      bfloat16 *terms[] = {b1, b2, b3};
#pragma unroll
      for (int k = 0; k < 3; k++)
        if (terms[k]) {
          bfloat16 term = rounded(rest);
          terms[k][i * ts + j] = term;
          rest = number && widened(term) - widened(term) == 0 ? rest - widened(term) : 0;
        }
    }
}
EXPORT(split_bf16)
