// The weight of a row by its groups, a row of M^T w: kernels.MeansGrad.
#pragma once
#include "common.cuh"

// A term of the table. The lists' offsets count from the table. Without groups, group k has the
// rows starts[k] to starts[k+1]-1; with groups, row i belongs to groups[starts[i]] to
// groups[starts[i+1]-1]. The weights w are the device's or, if place >= 0, float64 numbers in the
// host's memory, of which every block keeps a copy.
struct Term {
  int64 count, starts, groups, weights;
  const void *w;
  int64 stride, first, place;
};

// HOST_NUMBERS is the largest number of weights in the host's memory: kernels.MostHost.
#define HOST_NUMBERS 32

// Weights holds the weights from the host's memory, rounded to the elements' type.
struct Weights {
  const real *held;
  __device__ inline double of(const Term &t, int64 k) const {
    return t.place >= 0 ? held[t.place + k] : ((const real *)t.w)[k * t.stride];
  }
};

// host_weights reads the weights from the host's memory, once for each block. All threads of a block
// call it.
__device__ inline Weights host_weights(const char *table) {
  __shared__ real held[HOST_NUMBERS];
  int64 terms = table ? *(const int64 *)table : 0;
  const Term *list = (const Term *)(table + 8);
  bool any = false;
  for (int64 k = 0; k < terms; k++)
    if (list[k].place >= 0) {
      any = true;
      for (int64 j = threadIdx.x; j < list[k].count; j += blockDim.x) held[list[k].place + j] = (real)((const double *)list[k].w)[j];
    }
  if (any) __syncthreads();
  return Weights{held};
}

__device__ inline double range_weight(const char *table, const Term &t, const Weights &w, int64 i) {
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
  return w.of(t, lo) / (double)(starts[lo + 1] - starts[lo]);
}

__device__ inline double row_weight(const char *table, const Weights &w, int64 i) {
  int64 terms = *(const int64 *)table;
  const Term *list = (const Term *)(table + 8);
  double sum = 0;
  for (int64 k = 0; k < terms; k++) {
    const Term &t = list[k];
    if (t.groups < 0) {
      sum += range_weight(table, t, w, i);
      continue;
    }
    const int64 *starts = (const int64 *)(table + t.starts);
    const int *groups = (const int *)(table + t.groups);
    const double *weights = (const double *)(table + t.weights);
    for (int64 e = starts[i]; e < starts[i + 1]; e++) sum += weights[e] * w.of(t, groups[e]);
  }
  return sum;
}
