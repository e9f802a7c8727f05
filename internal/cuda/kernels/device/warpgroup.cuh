// The products of warpgroups, four warps that multiply matrices in shared memory (PTX ISA, section
// "Asynchronous Warpgroup Level Matrix Instructions"). They need compute capability 9.0 itself: the
// target is sm_90a. All threads of a warpgroup execute these functions together.
#pragma once
#include "common.cuh"

// matrix describes a matrix of rows of 32 bytes in shared memory, from a multiple of 256 bytes on, in
// which the halves of a row change places in every other four rows ("32-byte swizzling"): eight rows
// are 256 bytes further.
__device__ inline unsigned long long matrix(const void *first) {
#ifdef PPAL_HOST
  return 0;
#else
  const unsigned long long eight_rows = 256 / 16, swizzle_32 = 3;
  return (((unsigned)__cvta_generic_to_shared(first) & 0x3ffff) >> 4) | 1ull << 16 | eight_rows << 32 | swizzle_32 << 62;
#endif
}

// The operands of the instructions: the registers of the sums, and their numbers in the text.
#define FOUR_SUMS(i) "+r"(sum[i]), "+r"(sum[i + 1]), "+r"(sum[i + 2]), "+r"(sum[i + 3])
#define SUMS_32(i)                                                                                                               \
  FOUR_SUMS(i), FOUR_SUMS(i + 4), FOUR_SUMS(i + 8), FOUR_SUMS(i + 12), FOUR_SUMS(i + 16), FOUR_SUMS(i + 20), FOUR_SUMS(i + 24),  \
      FOUR_SUMS(i + 28)
#define NUMBERS_64                                                                                                               \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                                             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                                             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// multiply_add begins to add the product of 64 x 32 signed bytes a and the transpose of n x 32 signed
// bytes b to 64 x n numbers: wgmma. With w the warp of the warpgroup, g = lane / 4 and t = lane % 4,
// sum[r] is the element of row 16 w + g + 8 (r / 2 % 2) and column 8 (r / 4) + 2t + r % 2. A thread has
// n / 2 sums.
__device__ inline void multiply_add(int (&sum)[64], const void *a, const void *b) {
#ifdef PPAL_HOST
  emulated::warpgroup_multiply_add(sum, 128, a, b);
#else
  asm volatile("{ .reg .pred add; setp.eq.u32 add, 1, 1; wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" NUMBERS_64 "}, %64, %65, add; }"
               : SUMS_32(0), SUMS_32(32)
               : "l"(matrix(a)), "l"(matrix(b)));
#endif
}

__device__ inline void multiply_add(int (&sum)[96], const void *a, const void *b) {
#ifdef PPAL_HOST
  emulated::warpgroup_multiply_add(sum, 192, a, b);
#else
  asm volatile("{ .reg .pred add; setp.eq.u32 add, 1, 1; wgmma.mma_async.sync.aligned.m64n192k32.s32.s8.s8 {" NUMBERS_64
               ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
               ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
               "}, %96, %97, add; }"
               : SUMS_32(0), SUMS_32(32), SUMS_32(64)
               : "l"(matrix(a)), "l"(matrix(b)));
#endif
}

#undef FOUR_SUMS
#undef SUMS_32
#undef NUMBERS_64

// hold keeps the compiler from moving accesses to the sums across it.
template <int N> __device__ inline void hold(int (&sum)[N]) {
#ifndef PPAL_HOST
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+r"(sum[i])::"memory");
#endif
}

// copies_before_products orders the thread's copies to shared memory before products that begin after
// the next barrier.
__device__ inline void copies_before_products() {
#ifndef PPAL_HOST
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// begin_products orders the thread's accesses to the sums before the next product.
template <int N> __device__ inline void begin_products(int (&sum)[N]) {
#ifndef PPAL_HOST
  hold(sum);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

// end_products ends the present group of products.
__device__ inline void end_products() {
#ifdef PPAL_HOST
  emulated::end_products();
#else
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// wait_products waits for the products, except for the last N groups.
template <int N> __device__ inline void wait_products() {
#ifdef PPAL_HOST
  emulated::wait_products(N);
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
}
