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

// sizing measures the change of the direction, advances the rule of the automatic step size
// (problem.SizedDescent) and leaves the numbers of the step that follows in sizes: the momentum b,
// the threshold a weight, and the scale 1/(1 + a weight), a = e (1 + b s). moved has the squares of
// ||x_k - x_{k-1}|| and ||x_k||. If numbers is not 0, it has the numbers of SIZING_RULE, in the
// host's memory. The first block reads them while all blocks sum, and hands them to the last block
// behind the partial sums. All numbers are float64, and no product and sum are fused.
KERNEL(sizing)(int64 n, const real *x, const real *y, SIZING_START, SIZING_RULE, const double *numbers, double *sizes,
               const double *moved, double *partial, unsigned *tickets) {
  double *handed = partial + 2 * gridDim.x;
  if (numbers && blockIdx.x == 0 && threadIdx.x < SIZING_NUMBERS) handed[threadIdx.x] = numbers[threadIdx.x];
  double sum = 0, none = 0;
  FOR_ELEMENTS(i, n) {
    double d = (double)x[i] - (double)y[i];
    sum += d * d;
  }
  if (!grid_sums(sum, none, partial, tickets)) return;
  if (numbers) {
    double rule[SIZING_NUMBERS];
#pragma unroll
    for (int k = 0; k < SIZING_NUMBERS; k++) rule[k] = __ldcg(&handed[k]);
    least = rule[0], decay = rule[1], peak_decay = rule[2], scale = rule[3], cap = rule[4], ramp = rule[5], alert = rule[6];
    margin = rule[7], share = rule[8], growth = rule[9], raise = rule[10], run = rule[11], leap = rule[12], weight = rule[13];
  }
  Sizing z = {start_l, start_peak, start_seen, start_growing, start_step, start_length};
  double distance = start_distance, norm = start_norm;
  if (!start) {
    z = {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]};
    distance = sqrt(moved[0]), norm = sqrt(moved[1]);
  }
  if (!(distance <= least * plus(1, norm))) {
    z.l *= decay, z.peak *= peak_decay;
    double seen = sqrt(sum) / (distance * scale);
    if (isfinite(seen)) {
      z.peak = larger(z.peak, seen);
      z.growing = seen > growth * z.seen ? z.growing + 1 : 0;
      if (alert != 0 && z.growing >= run && seen > share * z.l) z.l = larger(z.l, lesser(raise * z.l, z.peak)), z.growing = 0;
      z.l = larger(z.l, seen), z.seen = seen;
    }
  }
  double e = margin / z.l;
  if (cap > 0) e = lesser(e, cap);
  if (isinf(e)) e = 1;
  e /= scale;
  double b = e > leap * z.step ? ramp * (z.step / e) : ramp;
  if (b > 0) z.length = plus(b * z.length, 1);
  z.step = e;
  double a = e * plus(1, b * z.length) * weight;
  sizes[0] = z.l, sizes[1] = z.peak, sizes[2] = z.seen, sizes[3] = z.growing, sizes[4] = z.step, sizes[5] = z.length;
  sizes[6] = b, sizes[7] = a, sizes[8] = 1 / plus(1, a);
}
EXPORT(sizing)

KERNEL(step_norm)(int64 n, const real *x, const real *d, const real *v, NUMBER(e), NUMBER(b), NUMBER(radius), double *result,
              double *partial, unsigned *tickets) {
  real e = (real)NUMBER_OF(e), b = (real)NUMBER_OF(b);
  double sum = 0, none = 0;
  FOR_ELEMENTS(i, n) {
    double y = step_point(x, d, v, e, b, i);
    sum += y * y;
  }
  if (grid_sums(sum, none, partial, tickets)) result[0] = sum, result[1] = ball_scale(sum, NUMBER_OF(radius));
}
EXPORT(step_norm)

KERNEL(descend)(int64 n, real *x, const real *d, real *v, NUMBER(e), NUMBER(b), PROXIMAL, double *result, double *partial,
                unsigned *tickets) {
  real e = (real)NUMBER_OF(e), b = (real)NUMBER_OF(b);
  Proximal p = PROXIMAL_OF;
  double moved = 0, size = 0;
  FOR_ELEMENTS(i, n) {
    real next = proximal(p, descended(x, d, v, e, b, i));
    double step = (double)next - (double)x[i];
    moved += step * step;
    size += (double)next * (double)next;
    x[i] = next;
  }
  if (grid_sums(moved, size, partial, tickets)) result[0] = moved, result[1] = size;
}
EXPORT(descend)

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
