// z = f(z + 1 b), in place.
#include "activations.cuh"

template <int F>
__device__ void bias_activation(real *z, int64 zs, const real *__restrict__ b, int64 rows, int64 cols) {
  int64 step = (int64)gridDim.y * blockDim.y;
  for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += (int64)gridDim.x * blockDim.x) {
    real bias = b[j];
    for (int64 i = (int64)blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += 4 * step) {
      real v[4]; // the loads before the stores, so that the loads overlap
#pragma unroll
      for (int u = 0; u < 4; u++)
        if (i + u * step < rows) v[u] = z[(i + u * step) * zs + j];
#pragma unroll
      for (int u = 0; u < 4; u++)
        if (i + u * step < rows) z[(i + u * step) * zs + j] = activation(F, v[u] + bias);
    }
  }
}

#define BIAS(name, F)                                                                                          \
  KERNEL(name)(real *z, int64 zs, const real *b, int64 bs, int64 rows, int64 cols) {                           \
    bias_activation<F>(z, zs, b, rows, cols);                                                                  \
  }                                                                                                            \
  EXPORT(name)

BIAS(bias_identity, IDENTITY)
BIAS(bias_sigmoid, SIGMOID)
BIAS(bias_tanh, TANH)
BIAS(bias_relu, RELU)
