// The weight of a row by its groups, a row of M^T w: kernels.MeansGrad.
#pragma once
#include "common.cuh"

// A term of the table. The lists' offsets count from the table. Without groups, group k has the
// rows starts[k] to starts[k+1]-1; with groups, row i belongs to groups[starts[i]] to
// groups[starts[i+1]-1].
struct Term {
  int64 count, starts, groups, weights;
  const real *w;
  int64 stride, first;
};

__device__ inline double range_weight(const char *table, const Term &t, int64 i) {
  const int64 *starts = (const int64 *)(table + t.starts);
  i += t.first;
  int64 lo = 0, hi = t.count; // starts[lo] <= i < starts[hi]
  if (i < starts[0] || i >= starts[t.count]) return 0;
  while (hi - lo > 1) {
    int64 middle = (lo + hi) / 2;
    if (starts[middle] <= i)
      lo = middle;
    else
      hi = middle;
  }
  return (double)t.w[lo * t.stride] / (double)(starts[lo + 1] - starts[lo]);
}

__device__ inline double row_weight(const char *table, int64 i) {
  int64 terms = *(const int64 *)table;
  const Term *list = (const Term *)(table + 8);
  double sum = 0;
  for (int64 k = 0; k < terms; k++) {
    const Term &t = list[k];
    if (t.groups < 0) {
      sum += range_weight(table, t, i);
      continue;
    }
    const int64 *starts = (const int64 *)(table + t.starts);
    const int *groups = (const int *)(table + t.groups);
    const double *weights = (const double *)(table + t.weights);
    for (int64 e = starts[i]; e < starts[i + 1]; e++) sum += weights[e] * t.w[groups[e] * t.stride];
  }
  return sum;
}
