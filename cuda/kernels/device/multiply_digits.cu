// Products of 8-bit data with int8 digits on integer tensor cores, with the sum over the digits,
// the bias and the activation in the same kernel: kernels.MultiplyDigits. The sums of the digits
// stay in registers.
#include "activations.cuh"
#include "dequantize.cuh"
#include "tensor.cuh"

// A block of 256 threads computes ROWS x COLUMNS elements. Its 8 warps are 2 x 4, and a warp
// computes 64 x 16 elements: TALL x WIDE results of multiply_add for each digit. STAGES pieces of
// DEPTH indices are in shared memory: the copies of the next pieces run beside the products.
enum { ROWS = 128, COLUMNS = 64, DEPTH = 32, STAGES = 4, TALL = 4, WIDE = 2, HALF = 16 };

enum { ADD, STORE };

// place returns where half of a row's piece begins in shared memory. Four rows take 128 bytes, and
// the halves change places in every other four rows, so that eight rows of a matrix and eight
// neighbouring copies each touch all memory banks once.
__device__ inline int place(int row, int half) { return row * DEPTH + (half ^ (row >> 2 & 1)) * HALF; }

// Feed copies the pieces of one row of a factor, 16 bytes at a time, to shared memory.
struct Feed {
  const signed char *from;
  int to;
  bool there; // else the row is 0
};

// STAGED is the shared memory of a stage with S digits, in bytes.
template <int S> __device__ constexpr int staged() { return (ROWS + S * COLUMNS) * DEPTH; }

// sum_pieces adds the products of all indices of a block to sum.
template <int S>
__device__ void sum_pieces(int sum[TALL][S * WIDE][4], signed char *shared, const Feed &left, const Feed right[2], bool second, int64 pieces,
                           int left_at, int right_at) {
  auto begin = [&](int64 piece) {
    if (piece < pieces) {
      signed char *stage = shared + (int)(piece % STAGES) * staged<S>();
      const int64 at = piece * DEPTH;
      copy_16(stage + left.to, left.from + at, left.there);
      copy_16(stage + right[0].to, right[0].from + at, right[0].there);
      if (second) copy_16(stage + right[1].to, right[1].from + at, right[1].there);
    }
    end_group(); // an empty one at the end, so that the count of groups stays right
  };
#pragma unroll
  for (int p = 0; p < STAGES - 1; p++) begin(p);
  for (int64 piece = 0; piece < pieces; piece++) {
    wait_groups<STAGES - 2>();
    __syncthreads(); // the piece is there for all threads, and nobody reads the stage before it
    begin(piece + STAGES - 1);
    const signed char *stage = shared + (int)(piece % STAGES) * staged<S>();
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
  wait_groups<0>();
  __syncthreads(); // the stages are used again
}

// finish writes one element of the result.
__device__ inline void finish(real *to, double v, int64 add, int f, const real *bias, int64 j) {
  real z = (real)(float)v;
  if (add) z += *to;
  *to = f >= 0 ? activation(f, z + bias[j]) : z;
}

// multiply_digits writes out = f(out + x b + 1 bias) or, with several blocks of indices, the
// products of block blockIdx.z to part, float64 blocks x rows x cols.
template <int S>
__device__ void multiply_digits(const signed char *x, int64 xs, const Digits &d, int64 blocks, int64 inner, const real *b, int64 row, int64 column,
                                real *out, int64 os, int64 rows, int64 cols, int64 add, int f, const real *bias, double *part) {
  __shared__ int4 stages[STAGES * staged<S>() / sizeof(int4)]; // of 16 bytes, as the copies and load_matrices need
  signed char *shared = (signed char *)stages;
  const int t = threadIdx.x, lane = t % 32, warp_row = t / 32 % 2 * (ROWS / 2), warp_col = t / 64 * (COLUMNS / 4);
  const int64 k = blockIdx.z, j0 = (int64)blockIdx.x * COLUMNS;
  Feed right[2];
#pragma unroll
  for (int u = 0; u < 2; u++) {
    const int line = t / 2 + 128 * u, s = line / COLUMNS;
    const int64 j = j0 + line % COLUMNS;
    right[u].there = s < S && j < d.width;
    right[u].from = d.at + ((k * S + (s < S ? s : 0)) * d.width + (j < d.width ? j : 0)) * d.length + t % 2 * HALF;
    right[u].to = place(ROWS + line, t % 2);
  }
  const int left_at = place(warp_row + lane % 16, lane / 16);
  const int right_at = place(ROWS + warp_col + lane / 16 * 8 + lane % 8, lane / 8 % 2);

  double unit[WIDE][2];
  int64 offset[WIDE][2];
  real shift[WIDE][2];
  const int64 j1 = j0 + warp_col + lane % 4 * 2; // the thread's columns: j1 + 8h and the next
#pragma unroll
  for (int h = 0; h < WIDE; h++)
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int64 j = j1 + 8 * h + c;
      unit[h][c] = j < cols ? d.units[k * d.width + j] : 0;
      offset[h][c] = j < cols ? d.offsets[k * d.width + j] : 0;
      shift[h][c] = f >= 0 && j < cols ? bias[j] : 0;
    }
  bool there[WIDE][2]; // columns with digits
#pragma unroll
  for (int h = 0; h < WIDE; h++)
#pragma unroll
    for (int c = 0; c < 2; c++) there[h][c] = j1 + 8 * h + c < cols && unit[h][c] == unit[h][c];

  for (int64 i0 = (int64)blockIdx.y * ROWS; i0 < rows; i0 += (int64)gridDim.y * ROWS) {
    Feed left;
    const int64 own = i0 + t / 2;
    left.there = own < rows;
    left.from = x + (left.there ? own : 0) * xs + k * d.length + t % 2 * HALF;
    left.to = place(t / 2, t % 2);
    int sum[TALL][S * WIDE][4] = {};
    sum_pieces<S>(sum, shared, left, right, t / 2 + 128 < S * COLUMNS, d.length / DEPTH, left_at, right_at);

    const int64 i1 = i0 + warp_row + lane / 4; // the thread's rows: i1 + 8, i1 + 16, ...
    auto number = [&](int i, int h, int r) {
      int64 total = offset[h][r % 2] + sum[i][(S - 1) * WIDE + h][r];
      if (S == 3) total += (int64)sum[i][h][r] * 64516 + (int64)sum[i][WIDE + h][r] * 254;
      else total += (int64)sum[i][h][r] * 254;
      return unit[h][r % 2] * (double)total;
    };
    if (blocks > 1) {
#pragma unroll
      for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int h = 0; h < WIDE; h++)
#pragma unroll
          for (int r = 0; r < 4; r++) {
            const int64 at = i1 + 16 * i + 8 * (r / 2);
            if (at < rows && there[h][r % 2]) part[(k * rows + at) * cols + j1 + 8 * h + r % 2] = number(i, h, r);
          }
    } else {
      real z[TALL][2][WIDE][2]; // by row and column
#pragma unroll
      for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int h = 0; h < WIDE; h++)
#pragma unroll
          for (int r = 0; r < 4; r++) z[i][r / 2][h][r % 2] = (real)(float)number(i, h, r);
      real *to = out + i1 * os + j1;
      auto each = [&](int what) { // the compiler knows which
#pragma unroll
        for (int i = 0; i < 2 * TALL; i++)
          if (i1 + 8 * i < rows)
#pragma unroll
            for (int h = 0; h < WIDE; h++)
#pragma unroll
              for (int c = 0; c < 2; c++)
                if (there[h][c]) {
                  real &v = z[i / 2][i % 2][h][c], *at = to + 8 * i * os + 8 * h + c;
                  if (what == ADD) v += *at;
                  else *at = v;
                }
      };
      if (add) each(ADD);
#pragma unroll
      for (int e = 0; e < TALL * 4 * WIDE; e++) (&z[0][0][0][0])[e] += shift[e / 2 % WIDE][e % 2]; // 0 without a bias
      activations<TALL * 4 * WIDE>(f, &z[0][0][0][0]);
      each(STORE);
    }
    for (int e = 0; e < 2 * WIDE; e++) { // columns without digits
      const int64 j = j1 + e / 2 * 8 + e % 2;
      if (j >= cols || d.units[k * d.width + j] == d.units[k * d.width + j]) continue;
      for (int64 at = i1; at < smaller(rows, i1 + ROWS / 2); at += 8) {
        const double v = numbers_sum(x + at * xs, b + j * column, row, k * d.length, smaller((k + 1) * d.length, inner), d.scale);
        if (blocks > 1) part[(k * rows + at) * cols + j] = v;
        else finish(out + at * os + j, v, add, f, bias, j);
      }
    }
  }
}

#define MULTIPLY_DIGITS                                                                                                          \
  (const signed char *x, int64 xs, DIGITS, int64 blocks, int64 inner, const real *b, int64 row, int64 column, real *out, int64 os, \
   int64 rows, int64 cols, int64 add, int64 f, const real *bias, int64 bs, double *part)
#define MULTIPLY_DIGITS_OF x, xs, DIGITS_OF, blocks, inner, b, row, column, out, os, rows, cols, add, (int)f, bias, part

KERNEL_WIDE(multiply_digits_2, 1) MULTIPLY_DIGITS { multiply_digits<2>(MULTIPLY_DIGITS_OF); }
EXPORT(multiply_digits_2)
KERNEL_WIDE(multiply_digits_3, 1) MULTIPLY_DIGITS { multiply_digits<3>(MULTIPLY_DIGITS_OF); }
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
