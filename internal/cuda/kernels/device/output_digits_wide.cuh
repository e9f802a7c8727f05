// The pass of output_digits.cu for LEAST to C scores and multiples of four columns: a thread takes
// four columns and four rows at a time, with loads of 128 bits, and the number of digits and the
// activation are known to the compiler. The digits are those of quantize_columns. The sums over
// the rows have another order than in output_digits.cu.
#pragma once
#include "digits.cuh"
#include "output_backward.cuh"
#include "wide.cuh"

enum { QUADS = 2, HIGH = 128, TOGETHER = FOUR * HIGH }; // a block of threads has QUADS x HIGH

// A Tile is what a thread reads for four rows: the activations of four columns, and the scores'
// gradients, whose rows have no gaps.
template <int C> struct Tile {
  float4 v[FOUR], x[C];
};

template <int C, int LEAST> __device__ inline void read(Tile<C> *t, const real *a, int64 as, const real *d, int64 cols) {
#pragma unroll
  for (int u = 0; u < FOUR; u++) t->v[u] = *(const float4 *)(a + (int64)u * as);
  read_quad<C, LEAST>(t->x, d, cols);
}

// read_some reads n < FOUR rows; the others are 0.
template <int C> __device__ inline void read_some(Tile<C> *t, const real *a, int64 as, const real *d, int64 cols, int64 n) {
#pragma unroll
  for (int u = 0; u < FOUR; u++) {
    t->v[u] = u < n ? *(const float4 *)(a + (int64)u * as) : float4{0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < C; j++) (&t->x[(u * C + j) / FOUR].x)[(u * C + j) % FOUR] = u < n && j < cols ? d[u * cols + j] : 0;
  }
}

// back returns the gradient of row u's activation in column c.
template <int C, int F> __device__ inline float back(const Tile<C> &t, const float (&w)[FOUR][C], int u, int c) {
  float sum = element(t.x, u * C) * w[c][0];
#pragma unroll
  for (int j = 1; j < C; j++) sum += element(t.x, u * C + j) * w[c][j];
  return sum * slope(F, (&t.v[u].x)[c]);
}

template <int C, int LEAST, int S, int F>
__device__ void output_digits_wide(const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,
                                   int64 das, const Digits &to, int64 rows, int64 hidden, const Gradients &grads, double *partial,
                                   unsigned *tickets) {
  enum { BIAS = FOUR * C, OFFSET = BIAS + FOUR, VALUES = OFFSET + FOUR }; // of a thread: 4 x C of g, then four of each
  __shared__ unsigned most_of[WARPS][QUADS][FOUR];
  __shared__ double sums_of[WARPS][QUADS][VALUES];
  const int64 cols = scores_of<C, LEAST>(ds); // the rows of d have no gaps
  const int t = thread_of_block(), warp = t / 32, lane = t % 32;
  const int64 k = ((int64)blockIdx.x * QUADS + threadIdx.x) * FOUR, block = blockIdx.y, lo = block * to.length;
  const int64 hi = smaller(lo + to.length, rows), end = k < hidden ? hi : lo, begin = lo + FOUR * threadIdx.y;
  float weights[FOUR][C];
#pragma unroll
  for (int c = 0; c < FOUR; c++)
#pragma unroll
    for (int j = 0; j < C; j++) weights[c][j] = k < hidden && j < cols ? w[transposed ? j * ws + k + c : (k + c) * ws + j] : 0;

  float g[FOUR][C] = {};
  double bias[FOUR] = {};
  unsigned most[FOUR] = {};
  auto add = [&](const Tile<C> &tile) {
#pragma unroll
    for (int c = 0; c < FOUR; c++) {
      float sum = 0;
#pragma unroll
      for (int u = 0; u < FOUR; u++) {
#pragma unroll
        for (int j = 0; j < C; j++) g[c][j] += (&tile.v[u].x)[c] * element(tile.x, u * C + j);
        const float b = back<C, F>(tile, weights, u, c);
        sum += b;
        const unsigned bits = bits_of(b) & 0x7fffffffu;
        if (bits > most[c]) most[c] = bits;
      }
      bias[c] += sum;
    }
  };
  const real *a_row = a + begin * as + k, *d_row = d + begin * cols;
  int64 i = begin;
  for (; i + FOUR <= end; i += TOGETHER, a_row += TOGETHER * as, d_row += TOGETHER * cols) {
    Tile<C> tile;
    read<C, LEAST>(&tile, a_row, as, d_row, cols);
    add(tile);
  }
  if (i < end) {
    Tile<C> tile;
    read_some<C>(&tile, a_row, as, d_row, cols, end - i);
    add(tile);
  }
#pragma unroll
  for (int c = 0; c < FOUR; c++) {
    for (int step = 16; step >= QUADS; step >>= 1) {
      const unsigned other = __shfl_down_sync(0xffffffffu, most[c], step);
      if (other > most[c]) most[c] = other;
    }
    if (lane < QUADS) most_of[warp][lane][c] = most[c];
  }
#pragma unroll
  for (int e = 0; e < OFFSET; e++) { // here, so that no thread keeps its sums
    const double v = over_warp<QUADS>(e < BIAS ? g[e / C % FOUR][e % C] : bias[e % FOUR]);
    if (lane < QUADS) sums_of[warp][lane][e] = v;
  }
  __syncthreads();
  Scaling scaling[FOUR];
  unsigned without = 0; // bit c: column c has no digits
#pragma unroll
  for (int c = 0; c < FOUR; c++) {
    unsigned largest = 0;
    for (int v = 0; v < WARPS; v++)
      if (most_of[v][threadIdx.x][c] > largest) largest = most_of[v][threadIdx.x][c];
    scaling[c] = scaling_of(largest, to);
    if (!scaling[c].finite) without |= 1u << c;
  }

  int sum[FOUR][S] = {};
  const unsigned length = (unsigned)to.length, width = (unsigned)to.width;
  signed char *digit = to.at + (block * S * to.width + k) * to.length + FOUR * threadIdx.y;
  auto put = [&](const Tile<C> &tile) {
#pragma unroll
    for (int c = 0; c < FOUR; c++) {
      float rest[FOUR], factor = scaling[c].factor;
      const unsigned mask = scaling[c].finite ? ~0u : 0; // without a branch for each element
#pragma unroll
      for (int u = 0; u < FOUR; u++) rest[u] = float_of(bits_of(back<C, F>(tile, weights, u, c) * scaling[c].lift) & mask);
#pragma unroll
      for (int s = 0; s < S; s++) {
        unsigned bits[FOUR];
#pragma unroll
        for (int u = 0; u < FOUR; u++) {
          const float shifted = fmaf(rest[u], factor, 0x1.8p23f); // the low byte is the rounded number
          bits[u] = bits_of(shifted);
          rest[u] = fmaf(rest[u], factor, -(shifted - 0x1.8p23f));
        }
        const unsigned word = __byte_perm(__byte_perm(bits[0], bits[1], 0x0040), __byte_perm(bits[2], bits[3], 0x0040), 0x5410);
        sum[c][s] = __dp4a((int)word, 0x01010101, sum[c][s]);
        *(unsigned *)(digit + (int64)(s * width + c) * length) = word;
        factor = (float)base;
      }
    }
  };
  a_row = a + begin * as + k, d_row = d + begin * cols;
  for (i = begin; i + FOUR <= end; i += TOGETHER, a_row += TOGETHER * as, d_row += TOGETHER * cols, digit += TOGETHER) {
    Tile<C> tile;
    read<C, LEAST>(&tile, a_row, as, d_row, cols);
    put(tile);
  }
  if (i < end) {
    Tile<C> tile;
    read_some<C>(&tile, a_row, as, d_row, cols, end - i);
    put(tile);
    i += TOGETHER, digit += TOGETHER;
  }
  for (; i < lo + to.length && k < to.width; i += TOGETHER, digit += TOGETHER)
    for (unsigned e = 0; e < S * FOUR; e++) *(unsigned *)(digit + (int64)(e / FOUR * width + e % FOUR) * length) = 0;

  a_row = a + begin * as + k, d_row = d + begin * cols;
  for (i = begin; i < end && without; i += TOGETHER, a_row += TOGETHER * as, d_row += TOGETHER * cols)
    for (int e = 0; e < FOUR * FOUR; e++) { // columns without digits
      const int u = e / FOUR, c = e % FOUR;
      if (!(without >> c & 1) || i + u >= end) continue;
      float sum = 0;
      for (int j = 0; j < cols; j++) sum += d_row[u * cols + j] * w[transposed ? j * ws + k + c : (k + c) * ws + j];
      da[(i + u) * das + k + c] = sum * slope(F, a_row[u * as + c]);
    }

#pragma unroll
  for (int c = 0; c < FOUR; c++) {
    int64 total = 0;
#pragma unroll
    for (int s = 0; s < S; s++) total = total * (int64)base + sum[c][s];
    const double v = over_warp<QUADS>((double)total); // exact: below 2^53
    if (lane < QUADS) sums_of[warp][lane][OFFSET + c] = v;
  }
  __syncthreads();
  if (threadIdx.y == 0 && k < to.width)
#pragma unroll
    for (int c = 0; c < FOUR; c++) to.units[block * to.width + k + c] = scaling[c].unit;
  // The first threads each take one value of one quad.
  const int quad = t / VALUES, e = t % VALUES, c = e < BIAS ? e / C : e % FOUR, j = e < BIAS ? e % C : C;
  const int64 column = ((int64)blockIdx.x * QUADS + quad) * FOUR + c;
  const bool own = t < QUADS * VALUES, mine = own && e < OFFSET && column < hidden && (j < cols || j == C);
  double v[1] = {};
  if (own)
    for (int u = 0; u < WARPS; u++) v[0] += sums_of[u][quad][e];
  if (own && e >= OFFSET && column < to.width) to.offsets[block * to.width + column] = 128 * (int64)v[0];
  finish_sums<C, 1>(v, mine, j < C ? j : cols, column, d, cols, lo, hi, hidden, grads, partial, tickets);
}

#define OUTPUT_DIGITS_WIDE(name, C, LEAST, S, F)                                                                                        \
  KERNEL_WIDE(name, C <= 4 ? 2 : 1)(const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da, \
                       int64 das, DIGITS, int64 rows, int64 hidden, real *bias, int64 bs, real *out_bias, int64 obs,             \
                       int64 add_sums, real *g, int64 gs, int64 add_g, double *partial, unsigned *tickets) {                     \
    const Gradients to = {bias, out_bias, add_sums, g, gs, add_g};                                                               \
    output_digits_wide<C, LEAST, S, F>(a, as, d, ds, w, ws, transposed, da, das, DIGITS_OF, rows, hidden, to, partial, tickets);            \
  }                                                                                                                              \
  EXPORT(name)
