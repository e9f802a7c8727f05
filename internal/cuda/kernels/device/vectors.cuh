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

// grid_sums adds each of N sums over all threads of the grid, in an order that depends on the grid's
// size only. It returns true to the one thread that then holds the sums.
template <int N> __device__ inline bool grid_sums(double (&sums)[N], double *partial, unsigned *tickets) {
  int t = thread_of_block();
  unsigned blocks = gridDim.x * gridDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;
#pragma unroll
  for (int k = 0; k < N; k++) sums[k] = block_sum(sums[k]);
  if (blocks == 1) return t == 0;
#pragma unroll
  for (int k = 0; k < N; k++)
    if (t == 0) partial[N * block + k] = sums[k];
  if (!last_block(tickets, blocks)) return false;
#pragma unroll
  for (int k = 0; k < N; k++) {
    double sum = 0;
    for (unsigned b = t; b < blocks; b += 256) sum += __ldcg(&partial[N * b + k]);
    sums[k] = block_sum(sum);
  }
  return t == 0;
}

__device__ inline bool grid_sums(double &first, double &second, double *partial, unsigned *tickets) {
  double sums[2] = {first, second};
  bool holds = grid_sums(sums, partial, tickets);
  first = sums[0], second = sums[1];
  return holds;
}

// block_sums returns each of N sums over a block of 256 threads, with the bits of block_sum: sum t to
// thread t.
template <int N> __device__ inline double block_sums(double (&sums)[N]) {
  __shared__ double part[N][8];
  int t = thread_of_block();
  double held = 0;
#pragma unroll
  for (int k = 0; k < N; k++) {
    for (int d = 16; d; d >>= 1) sums[k] += __shfl_down_sync(0xffffffffu, sums[k], d);
    if ((t & 31) == 0) part[k][t >> 5] = sums[k];
  }
  __syncthreads();
  if (t < N) {
    held = part[t][0];
    for (int w = 1; w < 8; w++) held += part[t][w];
  }
  __syncthreads(); // part may be used again
  return held;
}

// parts_sums is block_sums of N sums that blocks left at partial, N numbers for each block.
template <int N> __device__ inline double parts_sums(const double *partial, unsigned blocks) {
  double sums[N] = {};
  for (unsigned b = thread_of_block(); b < blocks; b += 256) {
#pragma unroll
    for (int k = 0; k < N; k++) sums[k] += __ldcg(&partial[N * b + k]);
  }
  return block_sums(sums);
}

// group_sums adds each of N sums over the blocks with the same blockIdx.y, with the bits of grid_sums
// for these blocks alone. Each group of blocks has its own partial sums and its own ticket. The function
// returns true to N threads of the group's last block; thread t then holds sum t in held.
template <int N> __device__ inline bool group_sums(double (&sums)[N], double &held, double *partial, unsigned *tickets) {
  int t = thread_of_block();
  unsigned blocks = gridDim.x;
  held = block_sums(sums);
  if (blocks > 1) {
    partial += (int64)blockIdx.y * blocks * N;
    if (t < N) partial[blockIdx.x * N + t] = held;
    if (!last_block(&tickets[blockIdx.y], blocks)) return false;
    held = parts_sums<N>(partial, blocks);
  }
  return t < N;
}

// LISTED is the number of vectors that a launch takes. Package kernels has the same constant. A
// vector that is not given has address 0.
#define LISTED 48
#define VECTORS(v) EACH_PARAMETER(const real *, v)
#define COEFFICIENTS(c) EACH_PARAMETER(double, c)
#define EACH_PARAMETER(type, v)                                                                                                  \
  type v##0, type v##1, type v##2, type v##3, type v##4, type v##5, type v##6, type v##7, type v##8, type v##9, type v##10,      \
      type v##11, type v##12, type v##13, type v##14, type v##15, type v##16, type v##17, type v##18, type v##19, type v##20,    \
      type v##21, type v##22, type v##23, type v##24, type v##25, type v##26, type v##27, type v##28, type v##29, type v##30,    \
      type v##31, type v##32, type v##33, type v##34, type v##35, type v##36, type v##37, type v##38, type v##39, type v##40,    \
      type v##41, type v##42, type v##43, type v##44, type v##45, type v##46, type v##47
#define LIST_OF(v)                                                                                                               \
  { v##0, v##1, v##2, v##3, v##4, v##5, v##6, v##7, v##8, v##9, v##10, v##11, v##12, v##13, v##14, v##15, v##16, v##17,          \
    v##18, v##19, v##20, v##21, v##22, v##23, v##24, v##25, v##26, v##27, v##28, v##29, v##30, v##31, v##32, v##33, v##34,       \
    v##35, v##36, v##37, v##38, v##39, v##40, v##41, v##42, v##43, v##44, v##45, v##46, v##47 }

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

// The sums of step_sums: ||d - previous||^2 and the inner products of the iterate x, the direction d
// and the velocity v. STEP_SUMS is their number: stepSums of package kernels.
enum { CHANGE, XX, XD, XV, DD, DV, VV, STEP_SUMS };

// trial_square is ||x - e (d + b (b v + d))||^2 from the sums. No product and sum are fused.
__device__ inline double trial_square(const double *s, double e, double b) {
  double c = plus(1, b), w = b * b; // the weights of d and v
  double linear = plus(c * s[XD], w * s[XV]), square = plus(plus(c * c * s[DD], 2 * c * w * s[DV]), w * w * s[VV]);
  return plus(s[XX], plus(-2 * e * linear, e * e * square));
}

// The numbers that the rule of the automatic step size leaves: the state of problem.Sizing, then the
// momentum b, the threshold a weight, and the scale 1/(1 + a weight), a = e (1 + b s). SIZING_COUNT
// is their number: kernels.SizingCount.
enum { CURVATURE, PEAK, SEEN, GROWING, STEP, LENGTH, MOMENTUM, THRESHOLD, SCALE, SIZING_COUNT };

// SIZING is the input of the rule of the automatic step size, in float64: if start is not 0, the state
// before the step and the lengths of the last move; then the inputs and the constants of
// problem.SizedDescent, and the regularizer's weight, which are SIZING_NUMBERS numbers:
// kernels.SizingNumbers.
#define SIZING_START 9
#define SIZING_NUMBERS 14
#define SIZING                                                                                                                   \
  double start, double start_l, double start_peak, double start_seen, double start_growing, double start_step,                   \
      double start_length, double start_distance, double start_norm, double least, double decay, double peak_decay,              \
      double scale, double cap, double ramp, double alert, double margin, double share, double growth, double raise,             \
      double run, double leap, double weight
#define SIZING_LIST                                                                                                              \
  {start, start_l, start_peak, start_seen, start_growing, start_step, start_length, start_distance, start_norm, least, decay,    \
   peak_decay, scale, cap, ramp, alert, margin, share, growth, raise, run, leap, weight}

__device__ inline double larger(double a, double b) { return a > b ? a : b; }

__device__ inline double lesser(double a, double b) { return a < b ? a : b; }
