// The instructions of the integer tensor cores (PTX ISA, section "Warp Level Matrix Instructions"),
// and copies from global to shared memory that run beside other work. They need compute capability
// 8.0. All threads of a warp execute the first two together.
#pragma once
#include "common.cuh"

// multiply_add adds the product of 16 x 32 and 32 x 8 signed bytes to 16 x 8 numbers: mma.m16n8k32.
// With g = lane / 4 and t = lane % 4, byte c of the thread's words is
//
//	a[r]: row g + 8 (r % 2), index 4t + c + 16 (r / 2)
//	b[r]: column g, index 4t + c + 16 r
//
// and sum[r] is the element of row g + 8 (r / 2) and column 2t + r % 2.
__device__ inline void multiply_add(int sum[4], const unsigned a[4], const unsigned b[2]) {
#ifdef PPAL_HOST
  emulated::multiply_add(sum, a, b);
#else
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// tf32 returns x rounded to 10 bits of mantissa, and bfloat16s the bfloat16 numbers nearest to low
// and to high in one word.
__device__ inline unsigned tf32(float x) {
#ifdef PPAL_HOST
  return emulated::tf32(x);
#else
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
#endif
}

__device__ inline unsigned bfloat16s(float low, float high) {
#ifdef PPAL_HOST
  return emulated::bfloat16s(low, high);
#else
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#endif
}

// multiply_add adds the product of 16 x 8 and 8 x 8 numbers of tf32 to 16 x 8 numbers (BF16 false,
// mma.m16n8k8), or of 16 x 16 and 16 x 8 bfloat16 numbers, two in a word (BF16 true, mma.m16n8k16).
// The words and the sums lie as those of the bytes above: a word in place of four bytes.
template <bool BF16> __device__ inline void multiply_add(float sum[4], const unsigned a[4], const unsigned b[2]) {
#ifdef PPAL_HOST
  emulated::multiply_add(sum, a, b, BF16);
#else
#define MULTIPLY_ADD(kind)                                                                                                       \
  asm("mma.sync.aligned." kind " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                            \
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])                                                                   \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]))
  if (BF16) MULTIPLY_ADD("m16n8k16.row.col.f32.bf16.bf16.f32");
  else MULTIPLY_ADD("m16n8k8.row.col.f32.tf32.tf32.f32");
#undef MULTIPLY_ADD
#endif
}

// load_matrices loads four matrices of 8 rows of 16 bytes from shared memory: ldmatrix.x4. Lane l
// gives the address of row l % 8 of matrix l / 8. The thread receives the bytes 4t to 4t + 3 of row
// g of each matrix.
__device__ inline void load_matrices(unsigned to[4], const void *row) {
#ifdef PPAL_HOST
  emulated::load_matrices(to, row);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#endif
}

// load_words loads four neighbouring words from shared memory. NVRTC splits the load of an int4 in some
// runs, and then writes PTX that its own ptxas refuses.
__device__ inline void load_words(unsigned to[4], const unsigned *from) {
#ifdef PPAL_HOST
  memcpy(to, from, 16);
#else
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((unsigned)__cvta_generic_to_shared(from))
               : "memory");
#endif
}

// copy_16 begins to copy 16 bytes to shared memory or, without there, to clear them: cp.async.
__device__ inline void copy_16(void *to, const void *from, bool there) {
#ifdef PPAL_HOST
  emulated::copy_16(to, from, there);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
#endif
}

// end_group ends the thread's present group of copies, which may be empty.
__device__ inline void end_group() {
#ifdef PPAL_HOST
  emulated::end_group();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// wait_groups waits for the thread's copies, except for the last N groups.
template <int N> __device__ inline void wait_groups() {
#ifdef PPAL_HOST
  emulated::wait_groups(N);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
