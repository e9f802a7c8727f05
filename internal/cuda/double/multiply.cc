//go:build gpu

#include "multiply.h"
#include <stdint.h>
#include <string.h>
#include <vector>

// The order is driver.Precision's.
enum { FLOAT32, TF32, FLOAT64, BF16, INT8 };

// What an element is as an operand of a product.
struct Plain {
  template <class T> static double of(T x) { return x; }
};

// tf32 keeps 10 bits of the mantissa, rounded to nearest, ties away from zero.
struct Rounded {
  static double of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if ((bits & 0x7f800000) != 0x7f800000) bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&x, &bits, 4);
    return x;
  }
};

struct Widened {
  static double of(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
  }
};

// No product and sum are fused. The compiler would fuse them in some vectors and not in others,
// whose places depend on the addresses, so the same product would have different bits.
#ifdef __GNUC__
#pragma GCC optimize("fp-contract=off")
#endif

// add is sums += x row, by the widest instructions that the processor has.
#if defined __x86_64__ && defined __gnu_linux__ && !defined __clang__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
add(double *sums, double x, const double *row, long n) {
  for (long j = 0; j < n; j++) sums[j] += x * row[j];
}

template <class Operand, class In, class Out>
static void multiply(long rows, long cols, long inner, bool trans_a, bool trans_b, double alpha, double beta, const In *a, long lda,
                     const In *b, long ldb, Out *c, long ldc) {
  std::vector<double> factor(inner * cols), sums(cols); // op(B), row by row
  for (long l = 0; l < inner; l++)
    for (long j = 0; j < cols; j++) factor[l * cols + j] = Operand::of(trans_b ? b[j * ldb + l] : b[l * ldb + j]);
  for (long i = 0; i < rows; i++) {
    sums.assign(cols, 0);
    for (long l = 0; l < inner; l++) {
      double x = Operand::of(trans_a ? a[l * lda + i] : a[i * lda + l]);
      add(sums.data(), x, &factor[l * cols], cols);
    }
    for (long j = 0; j < cols; j++) {
      double v = alpha * sums[j];
      if (beta != 0) v += beta * c[i * ldc + j];
      c[i * ldc + j] = (Out)v;
    }
  }
}

// integers is a b^T, whose sums are exact in float64. It returns 1 if a sum is not a 32-bit integer.
static int integers(long rows, long cols, long inner, const int8_t *a, long lda, const int8_t *b, long ldb, int32_t *c, long ldc) {
  std::vector<double> factor(inner * cols), sums(cols);
  for (long j = 0; j < cols; j++)
    for (long l = 0; l < inner; l++) factor[l * cols + j] = b[j * ldb + l];
  for (long i = 0; i < rows; i++) {
    sums.assign(cols, 0);
    for (long l = 0; l < inner; l++) add(sums.data(), a[i * lda + l], &factor[l * cols], cols);
    for (long j = 0; j < cols; j++) {
      if (sums[j] < INT32_MIN || sums[j] > INT32_MAX) return 1;
      c[i * ldc + j] = (int32_t)sums[j];
    }
  }
  return 0;
}

int host_multiply(int precision, long rows, long cols, long inner, int trans_a, int trans_b, double alpha, double beta,
                      unsigned long a, long stride_a, unsigned long b, long stride_b, unsigned long c, long stride_c) {
#define MULTIPLY(Operand, In, Out)                                                                                               \
  multiply<Operand>(rows, cols, inner, trans_a, trans_b, alpha, beta, (const In *)a, stride_a, (const In *)b, stride_b, (Out *)c,  \
                    stride_c)
  switch (precision) {
  case FLOAT32: MULTIPLY(Plain, float, float); break;
  case TF32: MULTIPLY(Rounded, float, float); break;
  case FLOAT64: MULTIPLY(Plain, double, double); break;
  case BF16: MULTIPLY(Widened, uint16_t, float); break;
  case INT8:
    return integers(rows, cols, inner, (const int8_t *)a, stride_a, (const int8_t *)b, stride_b, (int32_t *)c, stride_c);
  }
  return 0;
}
