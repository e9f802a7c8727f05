// The pass of output_digits.cu for four scores and multiples of four columns: a thread takes four
// columns and four rows at a time, with loads of 128 bits, and the number of digits and the
// activation are known to the compiler. The digits are those of quantize_columns. The sums over the
// rows have another order than in output_digits.cu.
#include "digits.cuh"
#include "output_backward.cuh"

enum { FOUR = 4, QUADS = 2, HIGH = 128, TOGETHER = FOUR * HIGH, WARPS = 8 }; // a block of threads has QUADS x HIGH
enum { BIAS = 16, OFFSET = 20, VALUES = 24 };                              // of a thread: 4 x 4 of g, then four of each

// A Tile is what a thread reads for four rows: the activations of four columns, and the four scores'
// gradients.
struct Tile {
  float4 v[FOUR], x[FOUR];
};

// read reads the rows i to i + 3. With TAIL, the rows from hi on are 0.
template <bool TAIL> __device__ inline void read(Tile *t, const real *a, int64 as, const real *d, int64 ds, int64 i, int64 hi) {
#pragma unroll
  for (int u = 0; u < FOUR; u++) {
    if (TAIL) t->v[u] = t->x[u] = float4{0, 0, 0, 0};
    if (!TAIL || i + u < hi) {
      t->v[u] = *(const float4 *)(a + (int64)u * as);
      t->x[u] = *(const float4 *)(d + (int64)u * ds);
    }
  }
}

// back returns the gradient of row u's activation in column c.
template <int F> __device__ inline float back(const Tile &t, const float4 *w, int u, int c) {
  const float4 x = t.x[u];
  return (x.x * w[c].x + x.y * w[c].y + x.z * w[c].z + x.w * w[c].w) * slope(F, (&t.v[u].x)[c]);
}

template <int S, int F>
__device__ void output_digits_four(const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,
                                   int64 das, const Digits &to, int64 rows, int64 hidden, const Gradients &grads, double *partial,
                                   unsigned *tickets) {
  __shared__ unsigned most_of[WARPS][QUADS][FOUR];
  __shared__ double sums_of[WARPS][QUADS][VALUES];
  const int t = thread_of_block(), warp = t / 32, lane = t % 32;
  const int64 k = ((int64)blockIdx.x * QUADS + threadIdx.x) * FOUR, block = blockIdx.y, lo = block * to.length;
  const int64 hi = smaller(lo + to.length, rows), end = k < hidden ? hi : lo, begin = lo + FOUR * threadIdx.y;
  float4 weights[FOUR];
#pragma unroll
  for (int c = 0; c < FOUR; c++) {
    weights[c] = float4{0, 0, 0, 0};
    if (k < hidden)
#pragma unroll
      for (int j = 0; j < FOUR; j++) (&weights[c].x)[j] = w[transposed ? j * ws + k + c : (k + c) * ws + j];
  }

  float g[FOUR][FOUR] = {};
  double bias[FOUR] = {};
  unsigned most[FOUR] = {};
  auto add = [&](const Tile &tile) {
#pragma unroll
    for (int c = 0; c < FOUR; c++) {
      float sum = 0;
#pragma unroll
      for (int u = 0; u < FOUR; u++) {
#pragma unroll
        for (int j = 0; j < FOUR; j++) g[c][j] += (&tile.v[u].x)[c] * (&tile.x[u].x)[j];
        const float b = back<F>(tile, weights, u, c);
        sum += b;
        const unsigned bits = bits_of(b) & 0x7fffffffu;
        if (bits > most[c]) most[c] = bits;
      }
      bias[c] += sum;
    }
  };
  const real *a_row = a + begin * as + k, *d_row = d + begin * ds;
  int64 i = begin;
  for (; i + FOUR <= end; i += TOGETHER, a_row += TOGETHER * as, d_row += TOGETHER * ds) {
    Tile tile;
    read<false>(&tile, a_row, as, d_row, ds, i, end);
    add(tile);
  }
  if (i < end) {
    Tile tile;
    read<true>(&tile, a_row, as, d_row, ds, i, end);
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
  __syncthreads();
  Scaling scaling[FOUR];
  bool finite = true;
#pragma unroll
  for (int c = 0; c < FOUR; c++) {
    unsigned largest = 0;
    for (int v = 0; v < WARPS; v++)
      if (most_of[v][threadIdx.x][c] > largest) largest = most_of[v][threadIdx.x][c];
    most[c] = largest;
    scaling[c] = scaling_of(largest, to);
    finite = finite && scaling[c].finite;
  }

  int sum[FOUR][S] = {};
  const unsigned length = (unsigned)to.length, width = (unsigned)to.width;
  signed char *digit = to.at + (block * S * to.width + k) * to.length + FOUR * threadIdx.y;
  auto put = [&](const Tile &tile) {
#pragma unroll
    for (int c = 0; c < FOUR; c++) {
      float rest[FOUR], factor = scaling[c].factor;
#pragma unroll
      for (int u = 0; u < FOUR; u++) rest[u] = scaling[c].finite ? back<F>(tile, weights, u, c) * scaling[c].lift : 0;
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
  a_row = a + begin * as + k, d_row = d + begin * ds;
  for (i = begin; i + FOUR <= end; i += TOGETHER, a_row += TOGETHER * as, d_row += TOGETHER * ds, digit += TOGETHER) {
    Tile tile;
    read<false>(&tile, a_row, as, d_row, ds, i, end);
    put(tile);
  }
  if (i < end) {
    Tile tile;
    read<true>(&tile, a_row, as, d_row, ds, i, end);
    put(tile);
    i += TOGETHER, digit += TOGETHER;
  }
  for (; i < lo + to.length && k < to.width; i += TOGETHER, digit += TOGETHER)
    for (unsigned e = 0; e < S * FOUR; e++) *(unsigned *)(digit + (int64)(e / FOUR * width + e % FOUR) * length) = 0;

  a_row = a + begin * as + k, d_row = d + begin * ds;
  for (i = begin; i < end && !finite; i += TOGETHER, a_row += TOGETHER * as, d_row += TOGETHER * ds)
    for (int e = 0; e < FOUR * FOUR; e++) { // columns without digits
      const int u = e / FOUR, c = e % FOUR;
      if (scaling_of(most[c], to).finite || i + u >= end) continue;
      float sum = 0;
      for (int j = 0; j < FOUR; j++) sum += d_row[u * ds + j] * w[transposed ? j * ws + k + c : (k + c) * ws + j];
      da[(i + u) * das + k + c] = sum * slope(F, a_row[u * as + c]);
    }

  double values[VALUES];
#pragma unroll
  for (int c = 0; c < FOUR; c++) {
#pragma unroll
    for (int j = 0; j < FOUR; j++) values[FOUR * c + j] = g[c][j];
    values[BIAS + c] = bias[c];
    int64 total = 0;
#pragma unroll
    for (int s = 0; s < S; s++) total = total * (int64)base + sum[c][s];
    values[OFFSET + c] = (double)total; // exact: below 2^53
  }
#pragma unroll
  for (int e = 0; e < VALUES; e++) {
    const double v = over_warp<QUADS>(values[e]);
    if (lane < QUADS) sums_of[warp][lane][e] = v;
  }
  __syncthreads();
  if (threadIdx.y == 0 && k < to.width)
#pragma unroll
    for (int c = 0; c < FOUR; c++) to.units[block * to.width + k + c] = scaling[c].unit;
  // The first threads each take one value of one quad.
  const int quad = t / VALUES, e = t % VALUES, c = e < BIAS ? e / FOUR : e % FOUR, j = e < BIAS ? e % FOUR : FOUR;
  const int64 column = ((int64)blockIdx.x * QUADS + quad) * FOUR + c;
  const bool own = t < QUADS * VALUES, mine = own && e < OFFSET && column < hidden;
  double v[1] = {};
  if (own)
    for (int u = 0; u < WARPS; u++) v[0] += sums_of[u][quad][e];
  if (own && e >= OFFSET && column < to.width) to.offsets[block * to.width + column] = 128 * (int64)v[0];
  finish_sums<FOUR, 1>(v, mine, j, column, d, ds, lo, hi, hidden, grads, partial, tickets);
}

#define OUTPUT_DIGITS_FOUR(name, S, F)                                                                                           \
  KERNEL_WIDE(name, 1)(int64 f, const real *a, int64 as, const real *d, int64 ds, const real *w, int64 ws, int64 transposed, real *da,   \
               int64 das, int64 keep, DIGITS, int64 rows, int64 hidden, int64 cols, real *bias, int64 bs, real *out_bias,        \
               int64 obs, int64 add_sums, real *g, int64 gs, int64 add_g, double *partial, unsigned *tickets) {                  \
    Gradients to = {bias, out_bias, add_sums, g, gs, add_g};                                                                     \
    output_digits_four<S, F>(a, as, d, ds, w, ws, transposed, da, das, DIGITS_OF, rows, hidden, to, partial, tickets);           \
  }                                                                                                                              \
  EXPORT(name)

OUTPUT_DIGITS_FOUR(output_digits_four_2_sigmoid, 2, SIGMOID)
OUTPUT_DIGITS_FOUR(output_digits_four_3_sigmoid, 3, SIGMOID)
OUTPUT_DIGITS_FOUR(output_digits_four_2_relu, 2, RELU)
OUTPUT_DIGITS_FOUR(output_digits_four_3_relu, 3, RELU)
