// Patches and pooling of pictures: plan.Convolution, plan.MaxPool and their derivatives. A row has a
// picture, channel by channel. Derivatives gather: a thread adds what its element receives, in order.
#include "window.cuh"

// EACH_PLACE loops over the places e of a grid of high x wide places in each of the rows, and gives
// the row n and the line and column of the place.
#define EACH_PLACE(e, n, line, column, high, wide)                                                                    \
  for (int64 e = (int64)blockIdx.x * blockDim.x + threadIdx.x; e < rows * (high) * (wide); e += (int64)gridDim.x * blockDim.x) \
    for (int n = (int)(e / ((high) * (wide))), line = (int)(e - (int64)n * (high) * (wide)) / (wide),                 \
             column = (int)(e - (int64)n * (high) * (wide)) % (wide), once = 1;                                       \
         once; once = 0)

// A thread takes EACH channels at a time, so that the loads of different channels overlap and the
// places are computed once for all of them. Threads beyond the last channel load the last one.
enum { EACH = 4 };
#define EACH_CHANNELS(c) for (int c = blockIdx.y * EACH; c < w.channels; c += gridDim.y * EACH)
#define CHANNEL(c, u) ((c) + (u) < w.channels ? (c) + (u) : w.channels - 1)

// source returns the place of the output whose window has an element at place t of a line or column
// before padding and dilation are counted, or -1 if there is none.
__device__ inline int source(int t, int stride, int most) {
  int p = stride == 1 ? t : t / stride;
  return t >= 0 && p * stride == t && p < most ? p : -1;
}

// To[c, i, j; n, p, q] = In[n; c, y(p, i), x(q, j)], and 0 outside the picture.
KERNEL_WIDE(patches, 4)(real *to, int64 ts, const real *__restrict__ in, int64 is, int64 rows, WINDOW) {
  const Window w = WINDOW_OF;
  const int size = w.height * w.width;
  EACH_PLACE(e, n, p, q, w.out_height, w.out_width) {
    const int y0 = p * w.stride_y - w.top, x0 = q * w.stride_x - w.left;
    EACH_CHANNELS(c) {
      const real *from[EACH];
#pragma unroll
      for (int u = 0; u < EACH; u++) from[u] = in + n * is + (int64)CHANNEL(c, u) * size;
      real *at = to + (int64)c * w.lines * w.columns * ts + e;
      const int64 step = (int64)w.lines * w.columns * ts;
      for (int i = 0; i < w.lines; i++)
        for (int j = 0; j < w.columns; j++, at += ts) {
          const int y = y0 + i * w.dilation_y, x = x0 + j * w.dilation_x;
          const bool there = w.inside(y, x);
          real v[EACH]; // the loads before the stores, so that the loads overlap
#pragma unroll
          for (int u = 0; u < EACH; u++) v[u] = there ? from[u][y * w.width + x] : 0;
#pragma unroll
          for (int u = 0; u < EACH; u++)
            if (c + u < w.channels) at[u * step] = v[u];
        }
    }
  }
}
EXPORT(patches)

// Out[n; c, y, x] = sum of D[c, i, j; n, p, q] over y(p, i) = y, x(q, j) = x.
KERNEL_WIDE(patches_sum, 4)(real *out, int64 os, const real *__restrict__ d, int64 ds, int64 rows, WINDOW) {
  const Window w = WINDOW_OF;
  const int size = w.height * w.width;
  EACH_PLACE(e, n, y, x, w.height, w.width) {
    EACH_CHANNELS(c) {
      real sum[EACH] = {};
      const real *from[EACH];
#pragma unroll
      for (int u = 0; u < EACH; u++)
        from[u] = d + (int64)CHANNEL(c, u) * w.lines * w.columns * ds + (int64)n * w.out_height * w.out_width;
      for (int i = 0; i < w.lines; i++) {
        const int p = source(y + w.top - i * w.dilation_y, w.stride_y, w.out_height);
        if (p < 0) continue;
        for (int j = 0; j < w.columns; j++) {
          const int q = source(x + w.left - j * w.dilation_x, w.stride_x, w.out_width);
          if (q < 0) continue;
          const int64 at = (int64)(i * w.columns + j) * ds + p * w.out_width + q;
#pragma unroll
          for (int u = 0; u < EACH; u++) sum[u] += from[u][at];
        }
      }
#pragma unroll
      for (int u = 0; u < EACH; u++)
        if (c + u < w.channels) out[n * os + (int64)(c + u) * size + y * w.width + x] = sum[u];
    }
  }
}
EXPORT(patches_sum)

#ifdef PPAL_F64
#define LOWEST -1.7976931348623157e308
#else
#define LOWEST -3.4028234663852886e38f
#endif

// Out[n; c, p, q] = max In[n; c, y(p, i), x(q, j)] without NaN; LOWEST without elements.
KERNEL_WIDE(max_pool, 4)(real *out, int64 os, const real *__restrict__ in, int64 is, int64 rows, WINDOW) {
  const Window w = WINDOW_OF;
  const int size = w.height * w.width, places = w.out_height * w.out_width;
  EACH_PLACE(e, n, p, q, w.out_height, w.out_width) {
    EACH_CHANNELS(c) {
      real most[EACH];
      const real *from[EACH];
#pragma unroll
      for (int u = 0; u < EACH; u++) most[u] = LOWEST, from[u] = in + n * is + (int64)CHANNEL(c, u) * size;
      for (int i = 0; i < w.lines; i++)
        for (int j = 0; j < w.columns; j++) {
          const int y = p * w.stride_y - w.top + i * w.dilation_y, x = q * w.stride_x - w.left + j * w.dilation_x;
          if (!w.inside(y, x)) continue;
#pragma unroll
          for (int u = 0; u < EACH; u++) {
            const real v = from[u][y * w.width + x];
            if (v > most[u]) most[u] = v;
          }
        }
#pragma unroll
      for (int u = 0; u < EACH; u++)
        if (c + u < w.channels) out[n * os + (int64)(c + u) * places + p * w.out_width + q] = most[u];
    }
  }
}
EXPORT(max_pool)

// Out[n; c, y, x] = sum of D[n; c, p, q] over the windows whose largest element is In[n; c, y, x]:
// no element before it is as large, and none after it is larger.
KERNEL_WIDE(max_pool_grad, 3)(real *out, int64 os, const real *__restrict__ in, int64 is, const real *__restrict__ d, int64 ds, int64 rows, WINDOW) {
  const Window w = WINDOW_OF;
  const int size = w.height * w.width, places = w.out_height * w.out_width;
  EACH_PLACE(e, n, y, x, w.height, w.width) {
    EACH_CHANNELS(c) {
      real sum[EACH] = {}, value[EACH];
      const real *from[EACH];
#pragma unroll
      for (int u = 0; u < EACH; u++) from[u] = in + n * is + (int64)CHANNEL(c, u) * size, value[u] = from[u][y * w.width + x];
      for (int i = w.lines - 1; i >= 0; i--) { // the windows in the order of their places
        const int p = source(y + w.top - i * w.dilation_y, w.stride_y, w.out_height);
        if (p < 0) continue;
        for (int j = w.columns - 1; j >= 0; j--) {
          const int q = source(x + w.left - j * w.dilation_x, w.stride_x, w.out_width);
          if (q < 0) continue;
          unsigned wins = 0; // by channel
#pragma unroll
          for (int u = 0; u < EACH; u++) wins |= (value[u] > LOWEST) << u;
          for (int k = 0; k < w.lines; k++)
#pragma unroll 1 // several windows' elements at a time would spill registers
            for (int l = 0; l < w.columns; l++) {
              const int yk = y + (k - i) * w.dilation_y, xl = x + (l - j) * w.dilation_x;
              if (!w.inside(yk, xl)) continue;
              const bool before = k < i || (k == i && l < j);
#pragma unroll
              for (int u = 0; u < EACH; u++) {
                const real v = from[u][yk * w.width + xl];
                if (v > value[u] || (before && v == value[u])) wins &= ~(1u << u);
              }
            }
#pragma unroll
          for (int u = 0; u < EACH; u++)
            if (wins >> u & 1) sum[u] += d[n * ds + (int64)CHANNEL(c, u) * places + p * w.out_width + q];
        }
      }
#pragma unroll
      for (int u = 0; u < EACH; u++)
        if (c + u < w.channels) out[n * os + (int64)(c + u) * size + y * w.width + x] = sum[u];
    }
  }
}
EXPORT(max_pool_grad)
