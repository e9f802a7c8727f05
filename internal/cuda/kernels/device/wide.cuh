// Passes with loads and stores of 128 bits: a thread takes FOUR columns at a time.
#pragma once
#include "common.cuh"

enum { FOUR = 4, WARPS = 8 }; // a block has WARPS warps

// element returns number i of consecutive numbers. i is known to the compiler.
__device__ inline float element(const float4 *v, int i) { return (&v[i / FOUR].x)[i % FOUR]; }

// A kernel is for LEAST to C scores. It fills rows of fewer than C numbers with zeros.

// scores_of returns the number of scores, which the compiler knows if C is the only one.
template <int C, int LEAST> __device__ inline int64 scores_of(int64 cols) { return LEAST == C ? C : cols; }

// read_quad reads FOUR rows of cols numbers without gaps, which begin at a multiple of 16 bytes, into
// rows of C numbers.
template <int C, int LEAST> __device__ inline void read_quad(float4 (&to)[C], const real *from, int64 cols) {
  if (LEAST == C || cols == C) {
#pragma unroll
    for (int e = 0; e < C; e++) to[e] = ((const float4 *)from)[e];
  } else {
#pragma unroll
    for (int e = 0; e < FOUR * C; e++) {
      const int u = e / C, j = e % C;
      (&to[e / FOUR].x)[e % FOUR] = j < LEAST || j < cols ? from[u * cols + j] : 0;
    }
  }
}
