// Passes with loads and stores of 128 bits: a thread takes FOUR columns at a time.
#pragma once
#include "common.cuh"

enum { FOUR = 4, WARPS = 8 }; // a block has WARPS warps

// element returns number i of consecutive numbers. i is known to the compiler.
__device__ inline float element(const float4 *v, int i) { return (&v[i / FOUR].x)[i % FOUR]; }
