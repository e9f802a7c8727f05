// bfloat16 terms whose sum is a float32: kernels.BFloat16s.
#pragma once
#include "common.cuh"

typedef unsigned short bfloat16; // the upper half of a float32

__device__ inline float widened(bfloat16 x) { return float_of((unsigned)x << 16); }

// rounded returns the nearest bfloat16, ties to even.
__device__ inline bfloat16 rounded(float x) {
  unsigned bits = bits_of(x);
  return x != x ? 0x7fc0 : (bfloat16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// The places of a matrix's terms; places that are 0 are omitted.
struct Terms {
  bfloat16 *first, *second, *third;
  int64 stride;
};

#define TERMS bfloat16 *first, bfloat16 *second, bfloat16 *third, int64 terms_stride
#define TERMS_OF                                                                                                                 \
  Terms { first, second, third, terms_stride }

// split writes the terms of x: x = b1 + b2 + b3 up to the rounding of the last term. The remainder
// of a NaN or an infinity is 0. Float64 plans have no terms.
__device__ inline void split(const Terms &to, int64 i, int64 j, float x) {
#ifdef PPAL_F32
  bool number = x - x == 0;
  bfloat16 *terms[] = {to.first, to.second, to.third};
#pragma unroll
  for (int k = 0; k < 3; k++)
    if (terms[k]) {
      bfloat16 term = rounded(x);
      terms[k][i * to.stride + j] = term;
      x = number && widened(term) - widened(term) == 0 ? x - widened(term) : 0;
    }
#endif
}
