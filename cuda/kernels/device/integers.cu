// Products of 8-bit data with int8 digits on integer tensor cores: the data as signed bytes in both
// layouts, the quantization of a matrix, and the dequantization of the integer sums.
#include "activations.cuh"
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

// numbers_sum returns the sum over a block of indices for a column without digits, from the
// column's numbers.
__device__ inline double numbers_sum(const signed char *x, const real *number, int64 row, int64 from, int64 to, double scale) {
  double sum = 0;
  for (int64 l = from; l < to; l++) sum += (double)((unsigned char)x[l] ^ 128) * scale * (double)number[l * row];
  return sum;
}

// out = f(sums + 1 bias); f < 0 omits activation and bias. Each block of indices has sums of rows x
// (count width). x holds the data's rows, and b is the quantized matrix.
KERNEL(dequantize_int8)(const int *sums, DIGITS, int64 blocks, int64 inner, const signed char *x, int64 xs, const real *b, int64 row,
                  int64 column, real *out, int64 os, int64 rows, int64 cols, int64 add, int64 f, const real *bias, int64 bs) {
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x)
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += (int64)gridDim.y * blockDim.y) {
      double sum = 0;
      for (int64 k = 0; k < blocks; k++) {
        const double unit = units[k * width + j];
        if (unit != unit) {
          sum += numbers_sum(x + i * xs, b + j * column, row, k * length, smaller((k + 1) * length, inner), scale);
          continue;
        }
        const int *own = sums + (k * rows + i) * count * width + j;
        int64 total = 0;
        for (int64 s = 0; s < count; s++) total = total * (int64)base + own[s * width];
        sum += unit * (double)(total + offsets[k * width + j]);
      }
      real z = (real)(float)sum;
      if (add) z += out[i * os + j];
      if (f >= 0) z = activation(f, z + bias[j]);
      out[i * os + j] = z;
    }
}
EXPORT(dequantize_int8)
