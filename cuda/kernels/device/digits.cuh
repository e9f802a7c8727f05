// Digits of base 254 of a matrix's columns: kernels.Digits. A block of threads has CUT_COLUMNS columns of one block of indices, four
// neighbouring indices a thread at a time.
#pragma once
#include "common.cuh"

enum { CUT_COLUMNS = 8, CUT_TOGETHER = 4 };

// Where they go: digit (block, slice, column, index), the unit of a column's last slice in a block, and 128 times the sum of its digits.
struct Digits {
  signed char *at;
  double *units;
  int64 *offsets;
  int64 slices, width, length;
  double scale;
};

#define DIGITS signed char *digits, double *units, int64 *offsets, int64 slices, int64 width, int64 length, double scale
#define DIGITS_OF                                                                                                                \
  Digits { digits, units, offsets, slices, width, length, scale }

const double base = 254;

// rows_most returns the largest of the numbers over threadIdx.y to all of them.
__device__ inline unsigned rows_most(unsigned v) {
  __shared__ unsigned part[256];
  int t = thread_of_block();
  part[t] = v;
  __syncthreads();
  for (unsigned h = blockDim.y / 2; h; h >>= 1) {
    if (threadIdx.y < h && part[t + h * blockDim.x] > part[t]) part[t] = part[t + h * blockDim.x];
    __syncthreads();
  }
  v = part[threadIdx.x];
  __syncthreads(); // part may be used again
  return v;
}

// A Ruler is what a column's digits are measured with; a column with an infinity or a NaN has none.
struct Ruler {
  float lift, factor;
  bool finite;
  double unit;
};

// ruler_of is that of a column whose largest magnitude has those bits. Tiny columns are multiplied with a power of two first.
__device__ inline Ruler ruler_of(unsigned most, const Digits &to) {
  Ruler r = {1, 0, most < 0x7f800000u, 0};
  float c = float_of(most);
  if (c < 0x1p-64f) r.lift = 0x1p96f;
  if (!r.finite) {
    r.unit = float_of(0x7fc00000u);
  } else if (c > 0) {
    r.factor = 127 / (c * r.lift);
    r.unit = to.scale / ((double)r.factor * (to.slices == 3 ? base * base : base)) / r.lift;
  }
  return r;
}

// put_digits writes the digits of four neighbours, and returns the sum of what they make, in units.
__device__ inline int64 put_digits(const float *v, const Ruler &r, const Digits &to, int64 block, int64 j, int64 index) {
  float rest[CUT_TOGETHER];
#pragma unroll
  for (int u = 0; u < CUT_TOGETHER; u++) rest[u] = v[u] * r.lift;
  float factor = r.factor;
  int64 sum = 0;
  for (int64 s = 0; s < to.slices; s++) {
    unsigned word = 0;
    int digits = 0;
#pragma unroll
    for (int u = 0; u < CUT_TOGETHER; u++) {
      float digit = fmaf(rest[u], factor, 0x1.8p23f) - 0x1.8p23f; // to the nearest integer, of two the even one
      word |= ((unsigned)(int)digit & 255) << 8 * u;
      digits += (int)digit;
      rest[u] = fmaf(rest[u], factor, -digit);
    }
    *(unsigned *)(to.at + ((block * to.slices + s) * to.width + j) * to.length + index) = word;
    sum = sum * (int64)base + digits;
    factor = base;
  }
  return sum;
}

// cut_columns cuts the columns of a matrix of inner x cols whose element (i, j) is value(i, j), which first(i, j) gives too, once. Elements
// of columns without digits, and with keep all, are given to store(i, j, v).
template <class First, class Value, class Store>
__device__ void cut_columns(First first, Value value, Store store, bool keep, int64 inner, int64 cols, const Digits &to) {
  const int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x, block = blockIdx.y, step = CUT_TOGETHER * blockDim.y;
  const int64 lo = block * to.length, hi = smaller(lo + to.length, inner);
  unsigned most = 0;
  if (j < cols)
    for (int64 i = lo + CUT_TOGETHER * threadIdx.y; i < hi; i += step)
#pragma unroll
      for (int u = 0; u < CUT_TOGETHER; u++)
        if (i + u < hi) {
          unsigned bits = bits_of(first(i + u, j)) & 0x7fffffffu;
          if (bits > most) most = bits;
        }
  const Ruler ruler = ruler_of(rows_most(most), to);
  int64 sum = 0;
  if (j < to.width)
    for (int64 i = lo + CUT_TOGETHER * threadIdx.y; i < lo + to.length; i += step) {
      float v[CUT_TOGETHER];
#pragma unroll
      for (int u = 0; u < CUT_TOGETHER; u++) {
        bool there = i + u < hi && j < cols;
        v[u] = there ? value(i + u, j) : 0;
        if (there && (keep || !ruler.finite)) store(i + u, j, v[u]);
        if (!ruler.finite) v[u] = 0;
      }
      sum += put_digits(v, ruler, to, block, j, i - lo);
    }
  const double all = rows_tree((double)sum); // exact: below 2^53
  if (threadIdx.y == 0 && j < to.width) {
    to.units[block * to.width + j] = ruler.unit;
    to.offsets[block * to.width + j] = 128 * (int64)all;
  }
}
