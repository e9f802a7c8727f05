// Convolutions on tensor cores without patches: kernels.Convolve. A block multiplies filters by the
// elements under the windows of PLACES places, which its threads read from the pictures. The sums
// run over the places of a window and, in each place, over the channels.
#include "activations.cuh"
#include "tensor.cuh"
#include "window.cuh"

// PIECE elements of the sums are in shared memory at a time, in two stages.
enum { PLACES = 128, PIECE = 16 };

// A piece of a factor is lines of words. A word is a number of tf32 (S 1), or a term of two
// neighbouring numbers, each the sum of S bfloat16 terms. Four lines are a multiplication: the thread
// with t = lane % 4 takes its words t and t + 4 from line t. A line has these two words for each
// place, and the four words for each pair of filters 16 i + g and 16 i + g + 8.
template <int S> __device__ constexpr int lines() { return S == 1 ? 8 : 4; }

// pack calls put with the lines of 8 neighbouring numbers, term by term, and the lines' words.
template <int S, class Put> __device__ inline void pack(float (&v)[8], Put put) {
#pragma unroll
  for (int s = 0; s < S; s++)
#pragma unroll
    for (int u = 0; u < 8; u += S == 1 ? 2 : 4)
      if (S == 1) put(u / 2, uint2{tf32(v[u]), tf32(v[u + 1])});
      else {
        const uint2 pair = {bfloat16s(v[u], v[u + 1]), bfloat16s(v[u + 2], v[u + 3])};
        put(s * lines<S>() + u / 4, pair);
        v[u] -= float_of(pair.x << 16), v[u + 1] -= float_of(pair.x & 0xffff0000);
        v[u + 2] -= float_of(pair.y << 16), v[u + 3] -= float_of(pair.y & 0xffff0000);
      }
}

// pack_filters writes the pieces of filters F[m; c, e] = filter[m row + c channel + e element], with
// the place e in the window. Filters beyond the last one are 0.
template <int S>
__device__ inline void pack_filters(unsigned *to, int64 wide, const real *filter, int64 row, int64 channel, int64 element, int64 filters,
                                    int64 channels, int64 places, int64 pieces) {
  const int64 step = (int64)gridDim.x * blockDim.x;
  for (int64 n = (int64)blockIdx.x * blockDim.x + threadIdx.x; n < 2 * pieces * wide; n += step) {
    const int64 m = n % wide, half = n / wide % 2, piece = n / wide / 2;
    float v[8];
#pragma unroll
    for (int u = 0; u < 8; u++) {
      const int64 k = piece * PIECE + half * 8 + u;
      v[u] = m < filters && k < channels * places ? filter[m * row + k % channels * channel + k / channels * element] : 0;
    }
    unsigned *at = to + (piece * S * lines<S>() + half * lines<S>() / 2) * 2 * wide + m / 16 * 32 + m % 8 * 4 + m / 8 % 2;
    pack<S>(v, [&](int line, uint2 pair) { at[line * 2 * wide] = pair.x, at[line * 2 * wide + 2] = pair.y; });
  }
}

KERNEL(convolve_filters)(unsigned *to, int64 terms, int64 wide, const real *filter, int64 row, int64 channel, int64 element,
                         int64 filters, int64 channels, int64 places, int64 pieces) {
  if (terms == 1) pack_filters<1>(to, wide, filter, row, channel, element, filters, channels, places, pieces);
  else if (terms == 2) pack_filters<2>(to, wide, filter, row, channel, element, filters, channels, places, pieces);
  else pack_filters<3>(to, wide, filter, row, channel, element, filters, channels, places, pieces);
}
EXPORT(convolve_filters)

// Column reads the elements under the window of one place, in the order of the sums.
struct Column {
  const real *picture; // null: there is no such place
  int y, x;            // of the window's first element
  int i, j, c;         // the next element
  int at;              // the window's place (i, j) in a channel
  bool there;          // in the picture

  // skip goes on by n elements.
  __device__ inline void skip(const Window &w, int n) {
    if ((c += n) < w.channels) return;
    for (; c >= w.channels; c -= w.channels)
      if (++j == w.columns) j = 0, i++;
    aim(w);
  }

  __device__ inline void aim(const Window &w) {
    const int line = y + i * w.dilation_y, column = x + j * w.dilation_x;
    at = line * w.width + column;
    there = picture && i < w.lines && w.inside(line, column);
  }

  // load reads 8 elements, 0 outside the picture, and skips the 8 behind them.
  __device__ inline void load(const Window &w, float (&v)[8]) {
    const int size = w.height * w.width;
    const real *from = picture + c * size + at;
    if (c + 8 <= w.channels) {
#pragma unroll
      for (int u = 0; u < 8; u++, from += size) v[u] = there ? *from : 0;
      skip(w, 16);
      return;
    }
#pragma unroll
    for (int u = 0; u < 8; u++, skip(w, 1)) v[u] = there ? picture[c * size + at] : 0;
    skip(w, 8);
  }
};

// The lengths of lines in shared memory, for ROWS = 32 TALL filters and for PLACES places or columns:
// a warp's words of all lines are in different memory banks. A stage has a piece of both factors.
template <int S, int TALL> struct Stage {
  enum { ROWS = 32 * TALL, LINES = lines<S>(), LEFT = 2 * ROWS + 8, RIGHT = 2 * PLACES + 8, SIZE = S * LINES * (LEFT + RIGHT) };

  // left and right are the places of the thread's first words.
  static __device__ int left(int t) { return t % 4 * LEFT + t / 32 % 2 * ROWS + t % 32 / 4 * 4; }
  static __device__ int right(int t) { return S * LINES * LEFT + t % 4 * RIGHT + t / 64 * 64 + t % 32 / 4 * 2; }
};

// multiply_piece adds the product of a piece to sum, whose first words for the thread are at left and
// right. The 8 warps of a block are 2 x 4. With g = lane / 4 and t = lane % 4, sum[i][h][r] is of the
// warp's filter 16 i + g + 8 (r / 2) and place or column 8 h + 2t + r % 2.
template <int S, int TALL> __device__ inline void multiply_piece(float (&sum)[TALL][4][4], const unsigned *words, int left, int right) {
  enum { LINES = lines<S>(), LEFT = Stage<S, TALL>::LEFT, RIGHT = Stage<S, TALL>::RIGHT };
#pragma unroll
  for (int s = 0; s < LINES / 4; s++) {
    unsigned a[S][TALL][4];
#pragma unroll
    for (int term = 0; term < S; term++)
#pragma unroll
      for (int i = 0; i < TALL; i++) load_words(a[term][i], words + left + (term * LINES + 4 * s) * LEFT + 32 * i);
#pragma unroll
    for (int h = 0; h < 4; h++) {
      uint2 b[S];
#pragma unroll
      for (int term = 0; term < S; term++) b[term] = *(const uint2 *)(words + right + (term * LINES + 4 * s) * RIGHT + 16 * h);
      // Tensor cores truncate, so a piece's products with terms, the smallest ones first, have a sum of their own.
#pragma unroll
      for (int i = 0; i < TALL; i++) {
        float part[4] = {}, *to = S == 1 ? sum[i][h] : part;
#pragma unroll
        for (int small = S - 1; small >= 0; small--)
#pragma unroll
          for (int term = 0; term <= small; term++) multiply_add<(S > 1)>(to, a[term][i], &b[small - term].x);
#pragma unroll
        for (int r = 0; r < 4 && S > 1; r++) sum[i][h][r] += part[r];
      }
    }
  }
}

// convolve writes Out[n; m, p, q] = f(sum F[m; c, i, j] In[n; c, y(p, i), x(q, j)] + bias[m, p, q])
// for 32 TALL filters and PLACES places.
template <int S, int TALL>
__device__ void convolve(real *out, int64 os, const real *__restrict__ in, int64 is, const unsigned *__restrict__ filter, int filters, int rows,
                         const Window &w, int f, const real *__restrict__ bias) {
  typedef Stage<S, TALL> Stage;
  enum { ROWS = Stage::ROWS, LINES = lines<S>(), LEFT = Stage::LEFT, RIGHT = Stage::RIGHT, STAGE = Stage::SIZE };
  alignas(16) __shared__ unsigned stages[2 * STAGE];
  const int t = threadIdx.x, lane = t % 32, high = (filters + ROWS - 1) / ROWS, wide = high * ROWS;
  const int i0 = (int)(blockIdx.x % high) * ROWS, j0 = (int)(blockIdx.x / high) * PLACES;
  const int places = w.out_height * w.out_width, all = rows * places, pieces = (w.channels * w.lines * w.columns + PIECE - 1) / PIECE;
  auto begin = [&](int piece) { // copies the filters of a piece
    unsigned *to = stages + piece % 2 * STAGE;
    const unsigned *from = filter + (int64)piece * S * LINES * 2 * wide + 2 * i0;
#pragma unroll
    for (int e = 4 * t, u = 0; u < (S * LINES * ROWS + 511) / 512; u++, e += 1024)
      if (e < S * LINES * 2 * ROWS) copy_16(to + e / (2 * ROWS) * LEFT + e % (2 * ROWS), from + e / (2 * ROWS) * 2 * wide + e % (2 * ROWS), true);
    end_group();
  };
  auto store = [&](int piece, float(&v)[8]) {
    unsigned *to = stages + piece % 2 * STAGE + S * LINES * LEFT + t / PLACES * (LINES / 2) * RIGHT + t % PLACES * 2;
    pack<S>(v, [&](int line, uint2 pair) { *(uint2 *)(to + line * RIGHT) = pair; });
  };
  const int j = j0 + t % PLACES, n = j / places, p = j % places;
  Column column = {j < all ? in + n * is : 0, p / w.out_width * w.stride_y - w.top, p % w.out_width * w.stride_x - w.left};
  column.aim(w);
  column.skip(w, t / PLACES * 8);
  float v[8], sum[TALL][4][4] = {};
  column.load(w, v);
  begin(0);
  store(0, v);
  const int left = Stage::left(t), right = Stage::right(t);
  for (int piece = 0; piece < pieces; piece++) {
    wait_groups<0>();
    __syncthreads(); // the piece is there for all threads, and nobody reads the other stage
    const bool more = piece + 1 < pieces;
    if (more) {
      column.load(w, v);
      begin(piece + 1);
    }
    const int stage = piece % 2 * STAGE;
    multiply_piece<S, TALL>(sum, stages, stage + left, stage + right);
    if (more) store(piece + 1, v);
  }
  const int m0 = i0 + t / 32 % 2 * (ROWS / 2) + lane / 4;
  const bool pairs = (places | os | (int64)((unsigned long long)out / sizeof(real))) % 2 == 0; // two places of a picture, aligned
#pragma unroll
  for (int h = 0; h < 4; h++) {
    const int e = j0 + t / 64 * 32 + 8 * h + lane % 4 * 2;
    int64 to[2], at[2];
    bool there[2];
#pragma unroll
    for (int c = 0; c < 2; c++) at[c] = (e + c) % places, to[c] = (e + c) / places * os + at[c], there[c] = e + c < all;
    real z[4 * TALL];
#pragma unroll
    for (int k = 0; k < 4 * TALL; k++) {
      const int m = m0 + k / 2 * 8;
      z[k] = sum[k / 4][h][k % 4];
      if (f >= 0 && m < filters && there[k % 2]) z[k] += bias[(int64)m * places + at[k % 2]];
    }
    if (f == RELU)
#pragma unroll
      for (int k = 0; k < 4 * TALL; k++) z[k] = relu(z[k]);
#pragma unroll
    for (int k = 0; k < 4 * TALL; k++) {
      const int m = m0 + k / 2 * 8;
      real *element = out + to[k % 2] + (int64)m * places;
      if (m >= filters || !there[k % 2]) continue;
      if (!pairs) *element = z[k];
      else if (k % 2 == 0) *(float2 *)element = float2{z[k], z[k + 1]};
    }
  }
}

#define CONVOLVE(name, S, TALL, blocks)                                                                                          \
  KERNEL_WIDE(name, blocks)(real *out, int64 os, const real *in, int64 is, const unsigned *filter, int64 filters, int64 f,       \
                            const real *bias, int64 bs, int64 rows, WINDOW) {                                                    \
    convolve<S, TALL>(out, os, in, is, filter, (int)filters, (int)rows, WINDOW_OF, (int)f, bias);                                \
  }                                                                                                                              \
  EXPORT(name)

CONVOLVE(convolve_tf32_64, 1, 2, 2)
CONVOLVE(convolve_tf32_128, 1, 4, 2)
CONVOLVE(convolve_bf16x2_64, 2, 2, 2)
CONVOLVE(convolve_bf16x3_64, 3, 2, 2)

// Place is a place of the sums of filter_sums: number e of all places, at (p, q) in picture n.
struct Place {
  int e, n, p, q;

  // skip goes on by some places.
  __device__ inline void skip(const Window &w, int places) {
    e += places, q += places;
#pragma unroll 1
    for (; q >= w.out_width; q -= w.out_width)
      if (++p == w.out_height) p = 0, n++;
  }
};

// filter_sums writes Part[k; m, c, i, j] = sum D[n; m, p, q] In[n; c, y(p, i), x(q, j)] over the k-th
// range of length places, for 64 filters and PLACES columns (c, i, j). Neighbouring threads read
// neighbouring places: a thread has one word of the lines, of a number of tf32 or of two numbers
// with WORDS places between them, for every ROUND-th filter and column.
template <int S>
__device__ void filter_sums(float *part, const real *__restrict__ d, int64 ds, const real *__restrict__ in, int64 is, int filters, int rows,
                            int length, const Window &w) {
  typedef Stage<S, 2> Stage;
  enum { ROWS = Stage::ROWS, LINES = lines<S>(), WORDS = 2 * LINES, ROUND = 256 / WORDS, NUMBERS = PIECE / WORDS };
  alignas(16) __shared__ unsigned stages[2 * Stage::SIZE];
  const int t = threadIdx.x, lane = t % 32, patch = w.channels * w.lines * w.columns;
  const int high = (filters + ROWS - 1) / ROWS, wide = (patch + PLACES - 1) / PLACES, block = blockIdx.x / high;
  const int i0 = (int)(blockIdx.x % high) * ROWS, j0 = block % wide * PLACES, range = block / wide;
  const int size = w.height * w.width, places = w.out_height * w.out_width;
  const int from = range * length, to = (int)smaller((int64)from + length, (int64)rows * places);
  const int word = t % WORDS, line = word / 8 * 4 + word % 4, half = word / 4 % 2, m = t / WORDS; // below ROUND, a multiple of 16
  const int to_left = line * Stage::LEFT + m / 16 * 32 + m % 8 * 4 + m / 8 % 2 + 2 * half;
  const int to_right = S * LINES * Stage::LEFT + line * Stage::RIGHT + 2 * m + half;
  __shared__ uint2 elements[PLACES]; // of the columns: the place of the window's element in the picture, and a bit for the element
  if (t < PLACES) {
    const int e = j0 + t, k = e % (w.lines * w.columns);
    const int at = e / (w.lines * w.columns) * size + k / w.columns * w.dilation_y * w.width + k % w.columns * w.dilation_x;
    elements[t] = {(unsigned)at, e < patch ? 1u << k : 0};
  }
  __syncthreads();
  const int first = from + word, k = first % places;
  Place a = {first, first / places, k / w.out_width, k % w.out_width};
  float of_d[ROWS / ROUND][NUMBERS], of_in[PLACES / ROUND][NUMBERS], sum[2][4][4] = {};
  auto load = [&] { // reads the numbers of a piece
#pragma unroll
    for (int r = 0; r < NUMBERS; r++) {
      const bool there = a.e < to;
      const int y = a.p * w.stride_y - w.top, x = a.q * w.stride_x - w.left;
      unsigned line = 0, inside = 0; // the window's elements in the picture, a bit each
#pragma unroll 1
      for (int j = w.columns; j--;) line = line << 1 | ((unsigned)(x + j * w.dilation_x) < (unsigned)w.width);
#pragma unroll 1
      for (int i = w.lines; i--;) inside = inside << w.columns | (there & ((unsigned)(y + i * w.dilation_y) < (unsigned)w.height) ? line : 0);
      const real *row = d + a.n * ds + ((i0 + m) * places + a.p * w.out_width + a.q), *picture = in + a.n * is + (y * w.width + x);
#pragma unroll
      for (int u = 0; u < ROWS / ROUND; u++) {
        const bool is = there & (i0 + m + ROUND * u < filters); // & and not &&: a branch for each number would take twice the time
        of_d[u][r] = is ? row[ROUND * u * places] : 0;
      }
#pragma unroll
      for (int u = 0; u < PLACES / ROUND; u++) {
        const uint2 e = elements[m + ROUND * u];
        of_in[u][r] = inside & e.y ? picture[(int)e.x] : 0;
      }
      a.skip(w, WORDS);
    }
  };
  auto put = [&](unsigned *to, int line_words, float(&v)[NUMBERS]) { // writes the word of each term
#pragma unroll
    for (int s = 0; s < S; s++) {
      const unsigned one = S == 1 ? tf32(v[0]) : bfloat16s(v[0], v[NUMBERS - 1]);
      to[s * LINES * line_words] = one;
      if (s + 1 < S) v[0] -= float_of(one << 16), v[NUMBERS - 1] -= float_of(one & 0xffff0000);
    }
  };
  auto store = [&](int piece) {
    unsigned *stage = stages + piece % 2 * Stage::SIZE;
#pragma unroll
    for (int u = 0; u < ROWS / ROUND; u++) put(stage + to_left + 2 * ROUND * u, Stage::LEFT, of_d[u]);
#pragma unroll
    for (int u = 0; u < PLACES / ROUND; u++) put(stage + to_right + 2 * ROUND * u, Stage::RIGHT, of_in[u]);
  };
  load();
  store(0);
  const int left = Stage::left(t), right = Stage::right(t);
  const int pieces = (to - from + PIECE - 1) / PIECE;
  for (int piece = 0; piece < pieces; piece++) {
    __syncthreads(); // the piece is there for all threads, and nobody reads the other stage
    const bool more = piece + 1 < pieces;
    if (more) load();
    const int stage = piece % 2 * Stage::SIZE;
    multiply_piece<S, 2>(sum, stages, stage + left, stage + right);
    if (more) store(piece + 1);
  }
#pragma unroll
  for (int h = 0; h < 4; h++)
#pragma unroll
    for (int k = 0; k < 8; k++) {
      const int m = i0 + t / 32 % 2 * (ROWS / 2) + lane / 4 + k / 2 * 8, e = j0 + t / 64 * 32 + 8 * h + lane % 4 * 2 + k % 2;
      if (m < filters && e < patch) part[((int64)range * filters + m) * patch + e] = sum[k / 4][h][k % 4];
    }
}

#define FILTER_SUMS(name, S, blocks)                                                                                             \
  KERNEL_WIDE(name, blocks)(float *part, const real *d, int64 ds, const real *in, int64 is, int64 filters, int64 rows, int64 length,  \
                       WINDOW) {                                                                                                 \
    filter_sums<S>(part, d, ds, in, is, (int)filters, (int)rows, (int)length, WINDOW_OF);                                        \
  }                                                                                                                              \
  EXPORT(name)

FILTER_SUMS(filter_sums_tf32, 1, 2)
FILTER_SUMS(filter_sums_bf16x2, 2, 2)
FILTER_SUMS(filter_sums_bf16x3, 3, 1)
