// The definitions that all kernels share: the elements' type, names, scalars and reductions.
//
// Every source is compiled for float (PPAL_F32) and double (PPAL_F64), except the sources that
// compile.py lists: by NVRTC for the device, and by the host's compiler for the test double
// (PPAL_HOST). A block has 256 threads unless a kernel says otherwise.
#pragma once

#ifdef PPAL_HOST
#include "host.h"
#endif

typedef long long int64;

#ifdef PPAL_F64
typedef double real;
#define SUFFIX _f64
#else
typedef float real;
#define SUFFIX _f32
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, SUFFIX)

#ifdef PPAL_HOST
#define KERNEL(name) static void NAME(name)
#define KERNEL_WIDE(name, blocks) KERNEL(name)
#define EXPORT(name) static const emulated::Registration JOIN(NAME(name), _registered)(EMULATED_STRING(NAME(name)), &NAME(name));
#else
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(256) NAME(name)
// KERNEL_WIDE gives the least number of blocks that a multiprocessor holds, where the compiler's
// own choice would spill registers.
#define KERNEL_WIDE(name, blocks) extern "C" __global__ void __launch_bounds__(256, blocks) NAME(name)
#define EXPORT(name)
#endif

// A scalar parameter: the value, or the value's address in device memory.
#define NUMBER(name) double name##_value, const double *name##_at
#define NUMBER_OF(name) (name##_at ? *name##_at : name##_value)

// thread_of_block numbers the threads of a block.
__device__ inline int thread_of_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

__device__ inline int64 smaller(int64 a, int64 b) { return a < b ? a : b; }

// block_sum returns the sum over a block of 256 threads to the first thread.
__device__ inline double block_sum(double v) {
  __shared__ double part[8];
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  int t = thread_of_block();
  if ((t & 31) == 0) part[t >> 5] = v;
  __syncthreads();
  if (t == 0)
    for (int w = 1; w < 8; w++) v += part[w];
  __syncthreads(); // part may be used again
  return v;
}

// plus returns a + b. The compiler does not fuse the sum with a product into one operation with one
// rounding, so different kernels give the same bits.
__device__ inline double plus(double a, double b) {
#ifdef PPAL_HOST
  return a + b;
#else
  return __dadd_rn(a, b);
#endif
}

// compiler_barrier keeps the compiler from moving loads of a later part of an unrolled loop to the
// front, where they would take registers.
__device__ inline void compiler_barrier() {
#ifndef PPAL_HOST
  asm volatile("" ::: "memory");
#endif
}

// bits_of returns the bits of a float32, and float_of the float32 of 32 bits.
__device__ inline unsigned bits_of(float x) {
  union {
    float number;
    unsigned bits;
  } u;
  u.number = x;
  return u.bits;
}

__device__ inline float float_of(unsigned bits) {
  union {
    unsigned bits;
    float number;
  } u;
  u.bits = bits;
  return u.number;
}

// power_of_two returns 2^k for whole = k + 1.5 2^52, -1022 <= k <= 1023.
__device__ inline double power_of_two(double whole) {
  union {
    double number;
    int64 bits;
  } u;
  u.number = whole;
  u.bits = ((u.bits + 1023) & 2047) << 52;
  return u.number;
}

// rows_tree returns the sum over threadIdx.y to the threads with threadIdx.y == 0. blockDim.y is a
// power of two.
__device__ inline double rows_tree(double v) {
  __shared__ double part[256];
  int t = thread_of_block();
  part[t] = v;
  __syncthreads();
  for (unsigned h = blockDim.y / 2; h; h >>= 1) {
    if (threadIdx.y < h) part[t] += part[t + h * blockDim.x];
    __syncthreads();
  }
  v = part[t];
  __syncthreads(); // part may be used again
  return v;
}

// last_block returns true to all threads of the last of the blocks that share a counter to arrive
// here: that block can read what the other blocks wrote before. The counter is 0 before and after.
__device__ inline bool last_block(unsigned *counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (thread_of_block() == 0) {
    last = atomicAdd(counter, 1u) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  bool is = last;
  if (is) __threadfence();
  __syncthreads(); // last may be used again
  return is;
}
