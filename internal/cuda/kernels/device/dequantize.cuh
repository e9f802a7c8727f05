// Products with columns that have no digits, because they hold an infinity or a NaN.
#pragma once
#include "digits.cuh"

// numbers_sum returns the sum over a block of indices for a column without digits, from the
// column's numbers.
__device__ inline double numbers_sum(const signed char *x, const real *number, int64 row, int64 from, int64 to, double scale) {
  double sum = 0;
  for (int64 l = from; l < to; l++) sum += (double)((unsigned char)x[l] ^ 128) * scale * (double)number[l * row];
  return sum;
}
