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

// convolve writes Out[n; m, p, q] = f(sum F[m; c, i, j] In[n; c, y(p, i), x(q, j)] + bias[m, p, q])
// for 32 TALL filters and PLACES places. The 8 warps of a block are 2 x 4. With g = lane / 4 and
// t = lane % 4, sum[i][h][r] is of the warp's filter 16 i + g + 8 (r / 2) and place 8 h + 2t + r % 2.
template <int S, int TALL>
__device__ void convolve(real *out, int64 os, const real *__restrict__ in, int64 is, const unsigned *__restrict__ filter, int filters, int rows,
                         const Window &w, int f, const real *__restrict__ bias) {
  enum { ROWS = 32 * TALL, LINES = lines<S>(), LEFT = 2 * ROWS + 8, RIGHT = 2 * PLACES + 8, STAGE = S * LINES * (LEFT + RIGHT) };
  alignas(16) __shared__ unsigned stages[2 * STAGE]; // a warp's words of all lines are in different memory banks
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
  const int left = lane % 4 * LEFT + t / 32 % 2 * ROWS + lane / 4 * 4;
  const int right = S * LINES * LEFT + lane % 4 * RIGHT + t / 64 * 64 + lane / 4 * 2;
  for (int piece = 0; piece < pieces; piece++) {
    wait_groups<0>();
    __syncthreads(); // the piece is there for all threads, and nobody reads the other stage
    const bool more = piece + 1 < pieces;
    if (more) {
      column.load(w, v);
      begin(piece + 1);
    }
    const unsigned *stage = stages + piece % 2 * STAGE;
#pragma unroll
    for (int s = 0; s < LINES / 4; s++) {
      unsigned a[S][TALL][4];
#pragma unroll
      for (int term = 0; term < S; term++)
#pragma unroll
        for (int i = 0; i < TALL; i++) {
          const int4 words = *(const int4 *)(stage + left + (term * LINES + 4 * s) * LEFT + 32 * i);
          a[term][i][0] = words.x, a[term][i][1] = words.y, a[term][i][2] = words.z, a[term][i][3] = words.w;
        }
#pragma unroll
      for (int h = 0; h < 4; h++) {
        uint2 b[S];
#pragma unroll
        for (int term = 0; term < S; term++) b[term] = *(const uint2 *)(stage + right + (term * LINES + 4 * s) * RIGHT + 16 * h);
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
