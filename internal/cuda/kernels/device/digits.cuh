// Digits of base 254 of a matrix's columns: kernels.Digits. A block of threads quantizes
// QUANTIZE_COLUMNS columns of one block of indices; a thread takes NEIGHBOURS consecutive indices
// at a time.
#pragma once
#include "common.cuh"

enum { QUANTIZE_COLUMNS = 8, NEIGHBOURS = 4 };

// The place of the digits (block, digit, column, index), the unit of a column's last digit in a
// block, and 128 times the sum of the column's integers.
struct Digits {
  signed char *at;
  double *units;
  int64 *offsets;
  int64 count, width, length;
  double scale;
};

#define DIGITS signed char *digits, double *units, int64 *offsets, int64 count, int64 width, int64 length, double scale
#define DIGITS_OF                                                                                                                \
  Digits { digits, units, offsets, count, width, length, scale }

const double base = 254;

// rows_most returns the largest number over threadIdx.y to all threads.
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

// A Scaling turns a column's numbers into digits; a column with an infinity or a NaN has none
// (finite is false).
struct Scaling {
  float lift, factor;
  bool finite;
  double unit;
};

// scaling_of returns the scaling of a column whose largest magnitude has the bits most. Tiny
// columns are first lifted by a power of two.
__device__ inline Scaling scaling_of(unsigned most, const Digits &to) {
  Scaling r = {1, 0, most < 0x7f800000u, 0};
  float c = float_of(most);
  if (c < 0x1p-64f) r.lift = 0x1p96f;
  if (!r.finite) {
    r.unit = float_of(0x7fc00000u);
  } else if (c > 0) {
    r.factor = 127 / (c * r.lift);
    r.unit = to.scale / ((double)r.factor * (to.count == 3 ? base * base : base)) / r.lift;
  }
  return r;
}

// put_digits writes the digits of consecutive indices, and returns the sum of their integers.
__device__ inline int64 put_digits(const float *v, const Scaling &r, const Digits &to, int64 block, int64 j, int64 index) {
  float rest[NEIGHBOURS];
#pragma unroll
  for (int u = 0; u < NEIGHBOURS; u++) rest[u] = v[u] * r.lift;
  float factor = r.factor;
  int64 sum = 0;
  for (int64 s = 0; s < to.count; s++) {
    unsigned word = 0;
    int digits = 0;
#pragma unroll
    for (int u = 0; u < NEIGHBOURS; u++) {
      float digit = fmaf(rest[u], factor, 0x1.8p23f) - 0x1.8p23f; // round to nearest, ties to even
      word |= ((unsigned)(int)digit & 255) << 8 * u;
      digits += (int)digit;
      rest[u] = fmaf(rest[u], factor, -digit);
    }
    *(unsigned *)(to.at + ((block * to.count + s) * to.width + j) * to.length + index) = word;
    sum = sum * (int64)base + digits;
    factor = base;
  }
  return sum;
}

// quantize_columns quantizes the columns of a matrix of inner x cols. Element (i, j) is value(i,
// j); first(i, j) returns the same number and is called once for each element. store(i, j, v)
// receives the elements of columns without digits or, with keep, all elements.
template <class First, class Value, class Store>
__device__ void quantize_columns(First first, Value value, Store store, bool keep, int64 inner, int64 cols, const Digits &to) {
  const int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x, block = blockIdx.y, step = NEIGHBOURS * blockDim.y;
  const int64 lo = block * to.length, hi = smaller(lo + to.length, inner);
  unsigned most = 0;
  if (j < cols)
    for (int64 i = lo + NEIGHBOURS * threadIdx.y; i < hi; i += step)
#pragma unroll
      for (int u = 0; u < NEIGHBOURS; u++)
        if (i + u < hi) {
          unsigned bits = bits_of(first(i + u, j)) & 0x7fffffffu;
          if (bits > most) most = bits;
        }
  const Scaling scaling = scaling_of(rows_most(most), to);
  int64 sum = 0;
  if (j < to.width)
    for (int64 i = lo + NEIGHBOURS * threadIdx.y; i < lo + to.length; i += step) {
      float v[NEIGHBOURS];
#pragma unroll
      for (int u = 0; u < NEIGHBOURS; u++) {
        bool there = i + u < hi && j < cols;
        v[u] = there ? value(i + u, j) : 0;
        if (there && (keep || !scaling.finite)) store(i + u, j, v[u]);
        if (!scaling.finite) v[u] = 0;
      }
      sum += put_digits(v, scaling, to, block, j, i - lo);
    }
  const double all = rows_tree((double)sum); // exact: below 2^53
  if (threadIdx.y == 0 && j < to.width) {
    to.units[block * to.width + j] = scaling.unit;
    to.offsets[block * to.width + j] = 128 * (int64)all;
  }
}
