// Means over groups of rows of numbers or losses: kernels.Means.
#include "losses.cuh"

// A group in the table: the rows first to last-1 or, with members, the rows in entries first to
// last-1 of that list. The mean is scale times the sum (of weighted members) minus offset. The
// lists' offsets count from the table.
struct Range {
  int64 first, last, members, weights;
  double scale, offset;
  real *out;
  int64 element, add;
  double *host; // memory of the host for the mean, or 0
};

// A group has gridDim.x blocks.
template <class Value>
__device__ void means_of(Value value, const char *table, int64 ranges, double *partial, unsigned *tickets) {
  for (int64 k = blockIdx.y; k < ranges; k += gridDim.y) {
    const Range &r = ((const Range *)table)[k];
    const int *members = (const int *)(table + r.members);
    const double *weights = (const double *)(table + r.weights);
    int64 each = (r.last - r.first + gridDim.x - 1) / gridDim.x;
    int64 lo = r.first + blockIdx.x * each, hi = smaller(lo + each, r.last);
    double sum = 0;
    for (int64 e = lo + threadIdx.x; e < hi; e += blockDim.x) sum += r.members < 0 ? value(e) : weights[e] * value(members[e]);
    sum = block_sum(sum);
    if (gridDim.x > 1) {
      if (threadIdx.x == 0) partial[k * gridDim.x + blockIdx.x] = sum;
      if (!last_block(&tickets[k], gridDim.x)) continue;
      sum = block_sum(threadIdx.x < gridDim.x ? __ldcg(&partial[k * gridDim.x + threadIdx.x]) : 0);
    }
    if (threadIdx.x == 0) {
      real *out = r.out + r.element;
      sum = sum * r.scale - r.offset;
      real mean = (real)(r.add ? *out + sum : sum);
      *out = mean;
      if (r.host) *r.host = mean;
    }
  }
}

KERNEL(means_values)(const char *table, int64 ranges, int64 phi, const void *labels, const real *s, int64 ss, int64 rows, int64 cols,
                     double *partial, unsigned *tickets) {
  means_of([=](int64 i) { return (double)s[i * ss]; }, table, ranges, partial, tickets);
}
EXPORT(means_values)

KERNEL_WIDE(means_margin, 4)(const char *table, int64 ranges, int64 phi, const int *labels, const real *s, int64 ss, int64 rows, int64 cols,
                     double *partial, unsigned *tickets) {
  means_of([=](int64 i) { return margin_row(phi, s + i * ss, cols, labels[i]); }, table, ranges, partial, tickets);
}
EXPORT(means_margin)

KERNEL(means_signed)(const char *table, int64 ranges, int64 phi, const signed char *labels, const real *s, int64 ss, int64 rows,
                     int64 cols, double *partial, unsigned *tickets) {
  means_of([=](int64 i) { return signed_row(phi, s[i * ss], labels[i]); }, table, ranges, partial, tickets);
}
EXPORT(means_signed)
