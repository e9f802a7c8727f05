// Matrix products without a library: C = alpha op(A) op(B) + beta C for row-major matrices, batched.
// They run where cuBLAS is missing or refuses a product. They are slower than cuBLAS and as accurate.
#include "terms.cuh"

enum { TILE = 64, DEPTH = 16, EACH = TILE / 16 };

__device__ inline real factor(real x) { return x; }
__device__ inline int factor(signed char x) { return x; }
__device__ inline float factor(bfloat16 x) { return widened(x); }

template <class Out> __device__ inline void finish(Out *to, double sum, double alpha, double beta) {
  *to = (Out)(alpha * sum + (beta != 0 ? beta * (double)*to : 0));
}
__device__ inline void finish(int *to, int sum, double, double) { *to = sum; }

// 256 threads compute a tile of TILE x TILE elements, EACH x EACH of them a thread. DEPTH indices of
// the sums are in shared memory at a time, as Parts, and the sums of DEPTH products are added to Sums.
template <class Sum, class Part, class In, class Out>
__device__ void multiply_tiles(const In *a, int64 as, int64 trans_a, int64 step_a, const In *b, int64 bs, int64 trans_b, int64 step_b,
                               Out *c, int64 cs, int64 step_c, int64 rows, int64 cols, int64 inner, int64 batch, double alpha, double beta) {
  __shared__ Part left[DEPTH][TILE + 1], right[DEPTH][TILE + 1];
  const int t = thread_of_block(), x = t % 16, y = t / 16;
  for (int64 k = blockIdx.z; k < batch; k += gridDim.z)
    for (int64 i0 = (int64)blockIdx.y * TILE; i0 < rows; i0 += (int64)gridDim.y * TILE)
      for (int64 j0 = (int64)blockIdx.x * TILE; j0 < cols; j0 += (int64)gridDim.x * TILE) {
        Sum sum[EACH][EACH] = {};
        for (int64 l0 = 0; l0 < inner; l0 += DEPTH) {
#pragma unroll
          for (int u = 0; u < EACH; u++) { // neighbouring threads read neighbouring elements
            const int e = t + 256 * u;
            const int la = trans_a ? e / TILE : e % DEPTH, i = trans_a ? e % TILE : e / DEPTH;
            const int lb = trans_b ? e % DEPTH : e / TILE, j = trans_b ? e / DEPTH : e % TILE;
            const int64 row = i0 + i, col = j0 + j;
            left[la][i] = l0 + la < inner && row < rows ? factor(a[k * step_a + (trans_a ? (l0 + la) * as + row : row * as + l0 + la)]) : 0;
            right[lb][j] = l0 + lb < inner && col < cols ? factor(b[k * step_b + (trans_b ? col * bs + l0 + lb : (l0 + lb) * bs + col)]) : 0;
          }
          __syncthreads();
          Part part[EACH][EACH] = {};
#pragma unroll
          for (int l = 0; l < DEPTH; l++) {
            Part p[EACH], q[EACH];
#pragma unroll
            for (int u = 0; u < EACH; u++) p[u] = left[l][y + 16 * u], q[u] = right[l][x + 16 * u];
#pragma unroll
            for (int u = 0; u < EACH; u++)
#pragma unroll
              for (int v = 0; v < EACH; v++) part[u][v] += p[u] * q[v];
          }
#pragma unroll
          for (int u = 0; u < EACH; u++)
#pragma unroll
            for (int v = 0; v < EACH; v++) sum[u][v] += part[u][v];
          __syncthreads(); // left and right are used again
        }
#pragma unroll
        for (int u = 0; u < EACH; u++)
#pragma unroll
          for (int v = 0; v < EACH; v++) {
            const int64 row = i0 + y + 16 * u, col = j0 + x + 16 * v;
            if (row < rows && col < cols) finish(c + k * step_c + row * cs + col, sum[u][v], alpha, beta);
          }
      }
}

#define PRODUCT(In, Out)                                                                                                         \
  (const In *a, int64 as, int64 trans_a, int64 step_a, const In *b, int64 bs, int64 trans_b, int64 step_b, Out *c, int64 cs,     \
   int64 step_c, int64 rows, int64 cols, int64 inner, int64 batch, double alpha, double beta)
#define PRODUCT_OF a, as, trans_a, step_a, b, bs, trans_b, step_b, c, cs, step_c, rows, cols, inner, batch, alpha, beta

KERNEL(multiply) PRODUCT(real, real) { multiply_tiles<double, real>(PRODUCT_OF); }
EXPORT(multiply)

#ifdef PPAL_F32
KERNEL(multiply_bf16) PRODUCT(bfloat16, float) { multiply_tiles<double, float>(PRODUCT_OF); }
EXPORT(multiply_bf16)

KERNEL(multiply_int8) PRODUCT(signed char, int) { multiply_tiles<int, int>(PRODUCT_OF); }
EXPORT(multiply_int8)
#endif
