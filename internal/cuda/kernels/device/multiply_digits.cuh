// Products of 8-bit data with int8 digits on integer tensor cores, with the sum over the digits,
// the bias and the activation in the same kernel: kernels.MultiplyDigits. The sums of the digits
// stay in registers. multiply_digits.cu multiplies by warps, multiply_warpgroups.cu by warpgroups.
#pragma once
#include "activations.cuh"
#include "dequantize.cuh"
#include "tensor.cuh"

// A block of 256 threads computes ROWS x COLUMNS elements. STAGES pieces of DEPTH indices are in
// shared memory: the copies of the next pieces run beside the products.
enum { ROWS = 128, COLUMNS = 64, DEPTH = 32, STAGES = 4, HALF = 16 };

// place returns where half of a row's piece begins in shared memory. Four rows take 128 bytes, and
// the halves change places in every other four rows, so that eight rows of a matrix and eight
// neighbouring copies each touch all memory banks once. This is the order of the products of
// warpgroups, too (warpgroup.cuh).
__device__ inline int place(int row, int half) { return row * DEPTH + (half ^ (row >> 2 & 1)) * HALF; }

// Feed copies the pieces of one row of a factor, 16 bytes at a time, to shared memory.
struct Feed {
  const signed char *from;
  int to;
  bool there; // else the row is 0
};

// staged is the shared memory of a stage with S digits, in bytes.
template <int S> __device__ constexpr int staged() { return (ROWS + S * COLUMNS) * DEPTH; }

// Feeds are the pieces that a thread copies: of a row of the data, and of one or two rows of digits.
template <int S> struct Feeds {
  Feed left, right[2];
  bool second;

  // begin starts to copy a piece to its stage, as a group, which is empty behind the last piece.
  __device__ inline void begin(signed char *shared, int piece, int pieces) const {
    if (piece < pieces) {
      signed char *stage = shared + piece % STAGES * staged<S>();
      const int at = piece * DEPTH;
      copy_16(stage + left.to, left.from + at, left.there);
      copy_16(stage + right[0].to, right[0].from + at, right[0].there);
      if (second) copy_16(stage + right[1].to, right[1].from + at, right[1].there);
    }
    end_group();
  }
};

// finish writes one element of the result.
__device__ inline void finish(real *to, double v, int64 add, int f, const real *bias, int64 j) {
  real z = (real)(float)v;
  if (add) z += *to;
  *to = f >= 0 ? activation(f, z + bias[j]) : z;
}

// multiply_digits writes out = f(out + x b + 1 bias) or, with several blocks of indices, the
// products of block blockIdx.z to part, float64 blocks x rows x cols. The sums of a thread belong to
// P::TALL times 16 rows and P::WIDE times 8 columns, from (P::row(), P::column()) of the block of
// threads on: with g = lane / 4 and t = lane % 4, sum[i][s P::WIDE + h][r] is digit s of row
// 16 i + g + 8 (r / 2) and column 8 h + 2t + r % 2.
template <int S, template <int> class P>
__device__ void multiply_digits(const signed char *x, int64 xs, const Digits &d, int64 blocks, int64 inner, const real *b, int64 row, int64 column,
                                real *out, int64 os, int64 rows, int64 cols, int64 add, int f, const real *bias, double *part) {
  enum { TALL = P<S>::TALL, WIDE = P<S>::WIDE, OWN = 4 * TALL };
  alignas(1024) __shared__ int4 stages[STAGES * staged<S>() / sizeof(int4)];
  __shared__ double units[COLUMNS]; // NaN: the column has no digits
  __shared__ int64 offsets[COLUMNS];
  __shared__ real shifts[COLUMNS];
  signed char *shared = (signed char *)stages;
  const int t = threadIdx.x, lane = t % 32, across = (int)((cols + COLUMNS - 1) / COLUMNS);
  const int64 k = blockIdx.z, i0 = (int64)(blockIdx.x / across) * ROWS, j0 = (int64)(blockIdx.x % across) * COLUMNS;
  if (t < COLUMNS) { // the barriers of sum_pieces precede the reads
    const bool there = j0 + t < cols;
    units[t] = there ? d.units[k * d.width + j0 + t] : 0;
    offsets[t] = there ? d.offsets[k * d.width + j0 + t] : 0;
    shifts[t] = there && f >= 0 ? bias[j0 + t] : 0;
  }
  Feeds<S> feeds;
  feeds.second = t / 2 + 128 < S * COLUMNS;
#pragma unroll
  for (int u = 0; u < 2; u++) {
    const int line = t / 2 + 128 * u, s = line / COLUMNS;
    const int64 j = j0 + line % COLUMNS;
    feeds.right[u].there = s < S && j < d.width;
    feeds.right[u].from = d.at + ((k * S + (s < S ? s : 0)) * d.width + (j < d.width ? j : 0)) * d.length + t % 2 * HALF;
    feeds.right[u].to = place(ROWS + line, t % 2);
  }
  const int64 own = i0 + t / 2;
  feeds.left.there = own < rows;
  feeds.left.from = x + (feeds.left.there ? own : 0) * xs + k * d.length + t % 2 * HALF;
  feeds.left.to = place(t / 2, t % 2);
  int sum[TALL][S * WIDE][4] = {};
  P<S>::sum_pieces(sum, shared, feeds, (int)d.length / DEPTH);

  // The block's rows and columns, and the thread's first ones.
  const int high = (int)smaller(rows - i0, ROWS), wide = (int)smaller(cols - j0, COLUMNS);
  const int i1 = P<S>::row() + lane / 4, j1 = P<S>::column() + lane % 4 * 2;
  unsigned without = 0; // bits of the columns without digits
  // for_columns calls each for the thread's columns j1 + 8h and the next, with the numbers of all rows and
  // whether the columns have digits.
  auto for_columns = [&](auto each) {
#pragma unroll
    for (int h = 0; h < WIDE; h++) {
      compiler_barrier();
      double unit[2], number[OWN];
      int64 offset[2];
      bool there[2];
#pragma unroll
      for (int c = 0; c < 2; c++) {
        unit[c] = units[j1 + 8 * h + c], offset[c] = offsets[j1 + 8 * h + c];
        there[c] = j1 + 8 * h + c < wide && unit[c] == unit[c];
        if (unit[c] != unit[c]) without |= 1u << (2 * h + c);
      }
#pragma unroll
      for (int e = 0; e < OWN; e++) {
        const int i = e / 4, r = e % 4;
        int64 total = offset[r % 2] + sum[i][(S - 1) * WIDE + h][r];
        if (S == 3) total += (int64)sum[i][h][r] * 64516 + (int64)sum[i][WIDE + h][r] * 254;
        else total += (int64)sum[i][h][r] * 254;
        number[e] = unit[r % 2] * (double)total;
      }
      each(h, number, there);
    }
  };
  if (blocks > 1) {
    part += (k * rows + i0 + i1) * cols + j0 + j1;
    for_columns([&](int h, const double(&number)[OWN], const bool(&there)[2]) {
#pragma unroll
      for (int e = 0; e < OWN; e++)
        if (i1 + 8 * (e / 2) < high && there[e % 2]) part[8 * (e / 2) * cols + 8 * h + e % 2] = number[e];
    });
  } else {
    out += (i0 + i1) * os + j0 + j1;
    for_columns([&](int h, const double(&number)[OWN], const bool(&there)[2]) {
      real z[OWN];
#pragma unroll
      for (int e = 0; e < OWN; e++) {
        z[e] = (real)(float)number[e];
        if (add && i1 + 8 * (e / 2) < high && there[e % 2]) z[e] += out[8 * (e / 2) * os + 8 * h + e % 2];
        z[e] += shifts[j1 + 8 * h + e % 2]; // 0 without a bias
      }
      activations<OWN>(f, z);
      const bool pairs = ((unsigned long long)out / sizeof(real) | os) % 2 == 0 && there[0] && there[1]; // aligned
#pragma unroll
      for (int e = 0; e < OWN; e++) {
        real *to = out + 8 * (e / 2) * os + 8 * h + e % 2;
        if (i1 + 8 * (e / 2) >= high || !there[e % 2]) continue;
        if (!pairs) *to = z[e];
        else if (e % 2 == 0) *(float2 *)to = float2{z[e], z[e + 1]};
      }
    });
  }
#pragma unroll 1
  for (int e = 0; e < 2 * WIDE && without >> e; e++) {
    const int64 c = e / 2 * 8 + e % 2, j = j0 + j1 + c;
    for (int64 i = 0; i < 16 * TALL && i1 + i < high && without >> e & 1; i += 8) {
      const double v = numbers_sum(x + (i0 + i1 + i) * xs, b + j * column, row, k * d.length, smaller((k + 1) * d.length, inner), d.scale);
      if (blocks > 1) part[i * cols + c] = v;
      else finish(out + i * os + c, v, add, f, bias, j);
    }
  }
}

#define MULTIPLY_DIGITS                                                                                                          \
  (const signed char *x, int64 xs, DIGITS, int64 blocks, int64 inner, const real *b, int64 row, int64 column, real *out, int64 os, \
   int64 rows, int64 cols, int64 add, int64 f, const real *bias, int64 bs, double *part)
#define MULTIPLY_DIGITS_OF x, xs, DIGITS_OF, blocks, inner, b, row, column, out, os, rows, cols, add, (int)f, bias, part
