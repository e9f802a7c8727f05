// The block soft threshold: the passes of a primal step over groups of the iterate's elements. A
// group has gridDim.x blocks.
#include "vectors.cuh"

// GROUP_ELEMENTS loops over a block's elements of group k.
#define GROUP_ELEMENTS(i, k, ends)                                                                                               \
  for (int64 i = ((k) ? ends[(k)-1] : 0) + (int64)blockIdx.x * blockDim.x + threadIdx.x; i < ends[k];                            \
       i += (int64)gridDim.x * blockDim.x)

KERNEL(group_factors)(int64 n, const real *x, const real *d, const real *v, NUMBER(e), NUMBER(b), NUMBER(threshold), const int64 *ends,
                    int64 groups, double *scales, double *partial, unsigned *tickets) {
  real e = (real)NUMBER_OF(e), b = (real)NUMBER_OF(b);
  double threshold = NUMBER_OF(threshold);
  for (int64 k = blockIdx.y; k < groups; k += gridDim.y) {
    double sum = 0;
    GROUP_ELEMENTS(i, k, ends) {
      double y = step_point(x, d, v, e, b, i);
      sum += y * y;
    }
    sum = block_sum(sum);
    if (gridDim.x > 1) {
      if (threadIdx.x == 0) partial[k * gridDim.x + blockIdx.x] = sum;
      if (!last_block(&tickets[k], gridDim.x)) continue;
      sum = block_sum(threadIdx.x < gridDim.x ? __ldcg(&partial[k * gridDim.x + threadIdx.x]) : 0);
    }
    double norm = sqrt(sum);
    if (threadIdx.x == 0) scales[k] = norm <= threshold ? 0 : 1 - threshold / norm; // NaN stays
  }
}
EXPORT(group_factors)

KERNEL(group_descend)(int64 n, real *x, const real *d, real *v, NUMBER(e), NUMBER(b), const int64 *ends, int64 groups,
                      const double *scales, double *result, double *partial, unsigned *tickets) {
  real e = (real)NUMBER_OF(e), b = (real)NUMBER_OF(b);
  double moved = 0, size = 0;
  for (int64 k = blockIdx.y; k < groups; k += gridDim.y) {
    real scale = (real)scales[k];
    GROUP_ELEMENTS(i, k, ends) {
      real next = scale * descended(x, d, v, e, b, i);
      double step = (double)next - (double)x[i];
      moved += step * step;
      size += (double)next * (double)next;
      x[i] = next;
    }
  }
  if (grid_sums(moved, size, partial, tickets)) result[0] = moved, result[1] = size;
}
EXPORT(group_descend)

KERNEL(group_scale)(real *x, const int64 *ends, int64 groups, const double *scales) {
  for (int64 k = blockIdx.y; k < groups; k += gridDim.y) {
    real scale = (real)scales[k];
    if (scale == 1) continue;
    GROUP_ELEMENTS(i, k, ends) x[i] *= scale;
  }
}
EXPORT(group_scale)
