// The loss of a row.
#pragma once
#include "phi.cuh"

// margin_row is sum_{j != c} phi(s_c - s_j).
__device__ inline double margin_row(int phi, const real *s, int64 cols, int c) {
  double sum = 0, own = s[c];
  for (int64 j = 0; j < cols; j++)
    if (j != c) sum += phi_value(phi, margin(own, s[j]));
  return sum;
}

// signed_row is phi(y s).
__device__ inline double signed_row(int phi, double s, double y) { return phi_value(phi, y * s); }
