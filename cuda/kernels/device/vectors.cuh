// The parts of a primal step's passes: the proximal map, and the sums of a pass.
#pragma once
#include "common.cuh"

struct Proximal {
  real scale, lower, upper, threshold;
};

#define PROXIMAL NUMBER(scale), NUMBER(lower), NUMBER(upper), NUMBER(threshold)
#define PROXIMAL_OF                                                                                                              \
  Proximal { (real) NUMBER_OF(scale), (real)NUMBER_OF(lower), (real)NUMBER_OF(upper), (real)NUMBER_OF(threshold) }

__device__ inline real clamp(real x, real lower, real upper) {
  if (x < lower) x = lower;
  return x > upper ? upper : x; // NaN stays
}

// proximal is P(y) = z - clamp(z, -threshold, threshold), z = clamp(scale y, lower, upper).
__device__ inline real proximal(const Proximal &p, real y) {
  real z = clamp(p.scale * y, p.lower, p.upper);
  return p.threshold > 0 ? z - clamp(z, -p.threshold, p.threshold) : z;
}

// ball_scale is the factor of the projection onto the ball of that radius; a radius of 0 gives 1.
__device__ inline double ball_scale(double size, double radius) {
  double n = sqrt(size);
  return radius > 0 && n > radius ? radius / n : 1;
}

// grid_sums adds two sums over all threads of the grid, in an order that depends on the grid's size
// only. It returns true to the one thread that then holds the sums.
__device__ inline bool grid_sums(double &first, double &second, double *partial, unsigned *tickets) {
  int t = thread_of_block();
  unsigned blocks = gridDim.x * gridDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;
  first = block_sum(first), second = block_sum(second);
  if (blocks == 1) return t == 0;
  if (t == 0) partial[2 * block] = first, partial[2 * block + 1] = second;
  if (!last_block(tickets, blocks)) return false;
  first = second = 0;
  for (unsigned b = t; b < blocks; b += 256) first += __ldcg(&partial[2 * b]), second += __ldcg(&partial[2 * b + 1]);
  first = block_sum(first), second = block_sum(second);
  return t == 0;
}

#define FOR_ELEMENTS(i, n)                                                                                                       \
  for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64)gridDim.x * blockDim.x)

// step_point is x - e (d + b (b v + d)), the point to which descend applies the proximal map.
__device__ inline real step_point(const real *x, const real *d, const real *v, real e, real b, int64 i) {
  if (!d) return x[i];
  real g = d[i];
  return b == 0 ? x[i] - e * g : x[i] - e * (g + b * (b * v[i] + g));
}

// descended sets v = b v + d and returns x - e (d + b v).
__device__ inline real descended(const real *x, const real *d, real *v, real e, real b, int64 i) {
  real g = d[i];
  if (b == 0) return x[i] - e * g;
  real w = b * v[i] + g;
  v[i] = w;
  return x[i] - e * (g + b * w);
}
