// Linear algebra on the iterate's vectors and the proximal steps: problem.Vectors on the device.
#include "vectors.cuh"

KERNEL(combine)(int64 n, real *to, NUMBER(a), const real *x, NUMBER(b), const real *y) {
  real a = (real)NUMBER_OF(a), b = y ? (real)NUMBER_OF(b) : 0;
  if (b == 0) {
    if (a == 1 && to == x) return;
    FOR_ELEMENTS(i, n) to[i] = a * x[i];
  } else {
    FOR_ELEMENTS(i, n) to[i] = a * x[i] + b * y[i];
  }
}
EXPORT(combine)

KERNEL(dot)(int64 n, const real *x, const real *y, double *result, double *partial, unsigned *tickets) {
  double sum = 0, none = 0;
  FOR_ELEMENTS(i, n) sum += (double)x[i] * (double)y[i];
  if (grid_sums(sum, none, partial, tickets)) result[0] = sum;
}
EXPORT(dot)

// dots multiplies x, and z if z is not 0, by count vectors: results[j] = x.y_j, and
// results[stride + j] = z.y_j. The blocks with the same blockIdx.y multiply PART vectors.
#define PART 8
KERNEL_WIDE(dots, 2)(int64 n, const real *x, const real *z, int64 count, VECTORS(y), double *results, int64 stride, double *partial,
                     unsigned *tickets) {
  const real *list[LISTED] = LIST_OF(y), *y[PART], *w = z ? z : x;
  int64 first = (int64)PART * blockIdx.y;
#pragma unroll
  for (int k = 0; k < PART; k++) {
    y[k] = x;
#pragma unroll
    for (int column = 0; column < LISTED / PART; column++)
      if (column == (int)blockIdx.y && list[column * PART + k]) y[k] = list[column * PART + k];
  }
  double sums[2 * PART] = {};
  FOR_ELEMENTS(i, n) {
    double own = x[i], other = w[i];
    real v[PART];
#pragma unroll
    for (int k = 0; k < PART; k++) v[k] = y[k][i];
#pragma unroll
    for (int k = 0; k < PART; k++) sums[k] += own * (double)v[k], sums[PART + k] += other * (double)v[k];
  }
  double sum;
  if (!group_sums(sums, sum, partial, tickets)) return;
  int t = thread_of_block(), row = t / PART;
  int64 j = first + t % PART;
  if (j < count && (row == 0 || z)) results[row * stride + j] = sum;
}
EXPORT(dots)

// vector_sum adds terms to the sums at from, or to 0 if from is 0. It writes the sums to carry, or
// rounded to to if carry is 0. from may be carry, and to may be one of the vectors. A thread starts
// the loads of 16 vectors before it uses the first value.
KERNEL(vector_sum)(int64 n, const double *from, double *carry, real *to, COEFFICIENTS(c), VECTORS(x)) {
  const double c[LISTED] = LIST_OF(c);
  const real *x[LISTED] = LIST_OF(x);
  FOR_ELEMENTS(i, n) {
    double sum = from ? from[i] : 0;
#pragma unroll
    for (int first = 0; first < LISTED; first += 16) {
      if (!x[first]) break;
      real v[16];
#pragma unroll
      for (int k = 0; k < 16; k++) v[k] = x[first + k] ? x[first + k][i] : 0;
#pragma unroll
      for (int k = 0; k < 16; k++)
        if (x[first + k]) sum += c[first + k] * (double)v[k];
    }
    if (carry)
      carry[i] = sum;
    else
      to[i] = (real)sum;
  }
}
EXPORT(vector_sum)

KERNEL(squared_distance)(int64 n, const real *x, const real *y, double *result, double *partial, unsigned *tickets) {
  double sum = 0, none = 0;
  FOR_ELEMENTS(i, n) {
    double d = (double)x[i] - (double)y[i];
    sum += d * d;
  }
  if (grid_sums(sum, none, partial, tickets)) result[0] = sum;
}
EXPORT(squared_distance)

// step_sums leaves the sums of each block at sums, and the input of the rule of the step size behind
// them. Vectors that are not given count as 0. If numbers is not 0, it has the rule's numbers in the
// host's memory, which arrive while the blocks sum.
KERNEL(step_sums)(int64 n, const real *x, const real *d, const real *v, const real *previous, SIZING, const double *numbers,
                  double *sums) {
  if (blockIdx.x == 0) {
    const double input[] = SIZING_LIST;
    double *handed = sums + STEP_SUMS * gridDim.x;
    if (threadIdx.x == 0) {
#pragma unroll
      for (int k = 0; k < SIZING_START + SIZING_NUMBERS; k++)
        if (k < SIZING_START || !numbers) handed[k] = input[k];
    }
    if (numbers && threadIdx.x < SIZING_NUMBERS) handed[SIZING_START + threadIdx.x] = numbers[threadIdx.x];
  }
  double s[STEP_SUMS] = {};
  FOR_ELEMENTS(i, n) {
    double at = x ? x[i] : 0, g = d[i], w = v ? v[i] : 0, change = previous ? g - (double)previous[i] : 0;
    s[CHANGE] += change * change, s[XX] += at * at, s[XD] += at * g, s[XV] += at * w, s[DD] += g * g, s[DV] += g * w, s[VV] += w * w;
  }
  double held = block_sums(s);
  if (threadIdx.x < STEP_SUMS) sums[STEP_SUMS * blockIdx.x + threadIdx.x] = held;
}
EXPORT(step_sums)

// total_steps adds the sums of the parts that step_sums left, to all threads.
__device__ inline void total_steps(double *total, const double *sums, int64 parts) {
  double held = parts_sums<STEP_SUMS>(sums, (unsigned)parts);
  if (threadIdx.x < STEP_SUMS) total[threadIdx.x] = held;
  __syncthreads();
}

// advance_sizing advances the rule of the automatic step size (problem.SizedDescent) with the input
// that step_sums left behind its sums, from the square of the direction's change, and the squares of
// ||x_k - x_{k-1}|| and ||x_k|| in moved. No product and sum are fused.
__device__ inline void advance_sizing(const double *in, double square, const double *sizes, const double *moved, double *next) {
  const double *state = in[0] ? in + 1 : sizes;
  double l = state[CURVATURE], peak = state[PEAK], last = state[SEEN], growing = state[GROWING], step = state[STEP], length = state[LENGTH];
  double distance = in[0] ? in[7] : sqrt(moved[0]), norm = in[0] ? in[8] : sqrt(moved[1]);
  in += SIZING_START;
  double least = in[0], decay = in[1], peak_decay = in[2], scale = in[3], cap = in[4], ramp = in[5], alert = in[6];
  double margin = in[7], share = in[8], growth = in[9], raise = in[10], run = in[11], leap = in[12], weight = in[13];
  if (!(distance <= least * plus(1, norm))) {
    l *= decay, peak *= peak_decay;
    double seen = sqrt(square) / (distance * scale);
    if (isfinite(seen)) {
      peak = larger(peak, seen);
      growing = seen > growth * last ? growing + 1 : 0;
      if (alert != 0 && growing >= run && seen > share * l) l = larger(l, lesser(raise * l, peak)), growing = 0;
      l = larger(l, seen), last = seen;
    }
  }
  double e = margin / l;
  if (cap > 0) e = lesser(e, cap);
  if (isinf(e)) e = 1;
  e /= scale;
  double b = e > leap * step ? ramp * (step / e) : ramp;
  if (b > 0) length = plus(b * length, 1);
  double a = e * plus(1, b * length) * weight;
  next[CURVATURE] = l, next[PEAK] = peak, next[SEEN] = last, next[GROWING] = growing, next[STEP] = e, next[LENGTH] = length;
  next[MOMENTUM] = b, next[THRESHOLD] = a, next[SCALE] = 1 / plus(1, a);
}

// sizing is one block: it advances the rule after step_sums.
KERNEL(sizing)(const double *sums, int64 parts, double *sizes, const double *moved) {
  __shared__ double total[STEP_SUMS];
  total_steps(total, sums, parts);
  if (threadIdx.x == 0) advance_sizing(sums + STEP_SUMS * parts, total[CHANGE], sizes, moved, sizes);
}
EXPORT(sizing)

// descend_all sets v = b v + d and x = P(x - e (d + b v)), and adds to ||x+ - x||^2 and ||x+||^2.
__device__ inline void descend_all(int64 n, real *x, const real *d, real *v, real e, real b, const Proximal &p, double &moved,
                                   double &size) {
  FOR_ELEMENTS(i, n) {
    real next = proximal(p, descended(x, d, v, e, b, i));
    double step = (double)next - (double)x[i];
    moved += step * step;
    size += (double)next * (double)next;
    x[i] = next;
  }
}

// descend projects onto the ball of the radius if radius > 0, with the sums of step_sums.
KERNEL(descend)(int64 n, real *x, const real *d, real *v, NUMBER(e), NUMBER(b), PROXIMAL, double radius, const double *sums,
                int64 parts, double *result, double *partial, unsigned *tickets) {
  __shared__ double total[STEP_SUMS];
  real e = (real)NUMBER_OF(e), b = (real)NUMBER_OF(b);
  Proximal p = PROXIMAL_OF;
  if (radius > 0) {
    total_steps(total, sums, parts);
    p.scale = (real)ball_scale(trial_square(total, e, b), radius);
  }
  double moved = 0, size = 0;
  descend_all(n, x, d, v, e, b, p, moved, size);
  if (grid_sums(moved, size, partial, tickets)) result[0] = moved, result[1] = size;
}
EXPORT(descend)

// descend_sized advances the rule in every block, which needs no further launch, and descends with
// the rule's numbers. soft says that the threshold is the rule's, and shrinks that the scale is. The
// last block leaves the new state, because the others have read the state before.
KERNEL(descend_sized)(int64 n, real *x, const real *d, real *v, PROXIMAL, int64 soft, int64 shrinks, double radius, const double *sums,
                      int64 parts, double *sizes, double *result, double *partial, unsigned *tickets) {
  __shared__ double total[STEP_SUMS], next[SIZING_COUNT];
  total_steps(total, sums, parts);
  if (threadIdx.x == 0) advance_sizing(sums + STEP_SUMS * parts, total[CHANGE], sizes, result, next);
  __syncthreads();
  real e = (real)next[STEP], b = (real)next[MOMENTUM];
  Proximal p = PROXIMAL_OF;
  if (soft) p.threshold = (real)next[THRESHOLD];
  if (shrinks) p.scale = (real)next[SCALE];
  if (radius > 0) p.scale = (real)ball_scale(trial_square(total, e, b), radius);
  double moved = 0, size = 0;
  descend_all(n, x, d, v, e, b, p, moved, size);
  if (!grid_sums(moved, size, partial, tickets)) return;
  result[0] = moved, result[1] = size;
  for (int k = 0; k < SIZING_COUNT; k++) sizes[k] = next[k];
}
EXPORT(descend_sized)

KERNEL(size)(int64 n, const real *x, double radius, double *result, double *partial, unsigned *tickets) {
  double sum = 0, none = 0;
  FOR_ELEMENTS(i, n) sum += (double)x[i] * (double)x[i];
  if (grid_sums(sum, none, partial, tickets)) result[0] = sum, result[1] = ball_scale(sum, radius);
}
EXPORT(size)

KERNEL(adam)(int64 n, real *x, const real *d, real *m1, real *m2, NUMBER(rate), NUMBER(root), PROXIMAL, NUMBER(radius), double *result,
             double *partial, unsigned *tickets) {
  double rate = (real)NUMBER_OF(rate), root = (real)NUMBER_OF(root), size = 0, none = 0;
  Proximal p = PROXIMAL_OF;
  FOR_ELEMENTS(i, n) {
    real g = d[i];
    real first = (real)0.9 * m1[i] + (real)0.1 * g;
    real second = (real)0.999 * m2[i] + (real)0.001 * g * g;
    m1[i] = first, m2[i] = second;
    real next = proximal(p, x[i] - (real)(rate * first / (sqrt(root * second) + 1e-8)));
    size += (double)next * (double)next;
    x[i] = next;
  }
  if (grid_sums(size, none, partial, tickets)) result[0] = size, result[1] = ball_scale(size, NUMBER_OF(radius));
}
EXPORT(adam)

KERNEL_WIDE(adagrad, 1)(int64 n, real *x, const real *d, real *squares, NUMBER(step), PROXIMAL) {
  double step = NUMBER_OF(step);
  Proximal p = PROXIMAL_OF;
  FOR_ELEMENTS(i, n) {
    real sum = squares[i] + d[i] * d[i];
    squares[i] = sum;
    x[i] = proximal(p, x[i] - (real)(step * d[i] / (sqrt((double)sum) + 1e-10)));
  }
}
EXPORT(adagrad)

KERNEL(prox)(int64 n, real *x, PROXIMAL) {
  Proximal p = PROXIMAL_OF;
  FOR_ELEMENTS(i, n) x[i] = proximal(p, x[i]);
}
EXPORT(prox)
