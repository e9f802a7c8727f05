// Products of 8-bit data with int8 digits on integer tensor cores: the data as signed bytes in both
// layouts, and the quantization of a matrix.
#include "digits.cuh"

// 32 x 8 threads take squares of 32 x 32 elements: bytes minus 128, and the same transposed.
KERNEL(signed_bytes)(signed char *to, int64 ts, signed char *transposed, int64 trs, const unsigned char *from, int64 rows, int64 cols) {
  __shared__ unsigned char square[32][33];
  for (int64 base_row = (int64)blockIdx.y * 32; base_row < rows; base_row += (int64)gridDim.y * 32)
    for (int64 base_col = (int64)blockIdx.x * 32; base_col < cols; base_col += (int64)gridDim.x * 32) {
      const int64 j = base_col + threadIdx.x;
      for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (base_row + y < rows && j < cols) {
          unsigned char v = from[(base_row + y) * cols + j] ^ 128;
          to[(base_row + y) * ts + j] = (signed char)v;
          square[y][threadIdx.x] = v;
        }
      __syncthreads();
      const int64 i = base_row + threadIdx.x;
      for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (base_col + y < cols && i < rows) transposed[(base_col + y) * trs + i] = (signed char)square[threadIdx.x][y];
      __syncthreads(); // square is used again
    }
}
EXPORT(signed_bytes)

// Element (i, j) of the matrix is i row + j column elements after b.
KERNEL(quantize_int8)(const real *b, int64 row, int64 column, int64 inner, int64 cols, DIGITS) {
  auto value = [=](int64 i, int64 j) { return (float)b[i * row + j * column]; };
  quantize_columns(value, value, [](int64, int64, float) {}, false, inner, cols, DIGITS_OF);
}
EXPORT(quantize_int8)

// center_int8 quantizes w, and sets out = bias - m w. The product m w is float64 in an order that
// depends on the shape only, and is rounded before the subtraction.
KERNEL(center_int8)(const real *w, int64 stride, int64 inner, int64 cols, const real *m, const real *bias, real *out, DIGITS) {
  double sum = 0;
  auto value = [=](int64 i, int64 j) { return (float)w[i * stride + j]; };
  auto first = [&](int64 i, int64 j) {
    sum += (double)m[i] * (double)w[i * stride + j];
    return (float)w[i * stride + j];
  };
  quantize_columns(first, value, [](int64, int64, float) {}, false, inner, cols, DIGITS_OF);
  const double mean = rows_tree(sum);
  const int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.y == 0 && j < cols) out[j] = bias[j] - (real)mean;
}
EXPORT(center_int8)
