// Products of 8-bit data with int8 digits by warps: multiply_digits.cuh.
#include "multiply_digits.cuh"

// The 8 warps of a block are 2 x 4, and a warp computes 64 x 16 elements.
template <int S> struct Warps {
  enum { TALL = 4, WIDE = 2 };
  static __device__ inline int row() { return threadIdx.x / 32 % 2 * (ROWS / 2); }
  static __device__ inline int column() { return threadIdx.x / 64 * (COLUMNS / 4); }

  // sum_pieces adds the products of all indices of a block to sum.
  static __device__ inline void sum_pieces(int (&sum)[TALL][S * WIDE][4], signed char *shared, const Feeds<S> &feeds, int pieces) {
    const int lane = threadIdx.x % 32;
    const int left_at = place(row() + lane % 16, lane / 16);
    const int right_at = place(ROWS + column() + lane / 16 * 8 + lane % 8, lane / 8 % 2);
#pragma unroll
    for (int p = 0; p < STAGES - 1; p++) feeds.begin(shared, p, pieces);
    for (int piece = 0; piece < pieces; piece++) {
      wait_groups<STAGES - 2>();
      __syncthreads(); // the piece is there for all threads, and nobody reads the stage before it
      feeds.begin(shared, piece + STAGES - 1, pieces);
      const signed char *stage = shared + piece % STAGES * staged<S>();
      unsigned a[TALL][4];
#pragma unroll
      for (int i = 0; i < TALL; i++) load_matrices(a[i], stage + left_at + i * 16 * DEPTH);
#pragma unroll
      for (int s = 0; s < S; s++) {
        unsigned b[2 * WIDE];
        load_matrices(b, stage + right_at + s * COLUMNS * DEPTH);
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
          for (int h = 0; h < WIDE; h++) multiply_add(sum[i][s * WIDE + h], a[i], b + 2 * h);
      }
    }
  }
};

KERNEL_WIDE(multiply_digits_2, 1) MULTIPLY_DIGITS { multiply_digits<2, Warps>(MULTIPLY_DIGITS_OF); }
EXPORT(multiply_digits_2)
KERNEL_WIDE(multiply_digits_3, 1) MULTIPLY_DIGITS { multiply_digits<3, Warps>(MULTIPLY_DIGITS_OF); }
EXPORT(multiply_digits_3)

// add_blocks adds the blocks of part in order: out = f(out + sum_k part_k + 1 bias).
KERNEL(add_blocks)(const double *part, int64 blocks, real *out, int64 os, int64 rows, int64 cols, int64 add, int64 f, const real *bias, int64 bs) {
  const int64 step = (int64)gridDim.x * blockDim.x, size = rows * cols;
  for (int64 e = (int64)blockIdx.x * blockDim.x + threadIdx.x; e < size; e += step) {
    double sum = 0;
    for (int64 k = 0; k < blocks; k++) sum += part[k * size + e];
    const int64 i = e / cols, j = e % cols;
    finish(out + i * os + j, sum, add, (int)f, bias, j);
  }
}
EXPORT(add_blocks)
