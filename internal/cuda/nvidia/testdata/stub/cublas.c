#include <stdlib.h>
#include <string.h>

#include "../../../double/multiply.h"
#include "stub.h"

// cublasStatus_t
enum { NOT_INITIALIZED = 1, BAD_VALUE = 7, NOT_SUPPORTED = 15 };

typedef struct {
  void *stream, *workspace;
  int math_mode;
} handle;

API int cublasGetProperty(int which, int *value) { return *value = (int[]){12, 4, 5}[which], 0; }
API const char *cublasGetStatusName(int status) { return status == 13 ? "CUBLAS_STATUS_EXECUTION_FAILED" : "CUBLAS_STATUS_OTHER"; }
API const char *cublasGetStatusString(int status) { return (void)status, "the stub failed to execute"; }
API int cublasCreate_v2(handle **h) {
  int asked = fails("cublasCreate_v2");
  if (asked) return asked;
  if (!has_context()) return NOT_INITIALIZED;
  logged("create handle");
  return *h = calloc(1, sizeof **h), (*h)->math_mode = -1, 0;
}
API int cublasDestroy_v2(handle *h) { return free(h), logged("destroy handle"), 0; }
API int cublasSetStream_v2(handle *h, void *stream) { return h->stream = stream, h->workspace = NULL, 0; } // as documented
API int cublasSetWorkspace_v2(handle *h, void *workspace, size_t bytes) {
  logged("workspace %zu", bytes);
  return inside((uint64_t)workspace, bytes) ? (h->workspace = workspace, 0) : BAD_VALUE;
}
API int cublasSetMathMode(handle *h, int mode) { return h->math_mode = mode, 0; }

// The kinds of products, in the order of driver.Precision.
enum { FLOAT, TF32, DOUBLE, BFLOAT, INTEGER };

// A product as work: args are trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, kind, alpha, beta.
enum { TRANS_A, TRANS_B, M, N, K, A, LDA, B, LDB, C, LDC, KIND, ALPHA, BETA };

static double number(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static uint64_t bits_of(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

// multiply runs a column-major product as the row-major product of the transposes: C^T = op(B)^T op(A)^T. A device's integer sums wrap
// around where the loops here fail.
static int multiply(const work *w) {
  const uint64_t *g = w->args;
  if (g[KIND] == INTEGER && *setting("PPAL_STUB_WRONG", "")) { // the first number, which no padding hides, is wrong
    int failed = host_multiply(g[KIND], g[N], g[M], g[K], g[TRANS_B], g[TRANS_A], 1, 0, g[B], g[LDB], g[A], g[LDA], g[C], g[LDC]);
    return *(int32_t *)g[C] += 1000, failed ? ILLEGAL_ADDRESS : OK;
  }
  return host_multiply(g[KIND], g[N], g[M], g[K], g[TRANS_B], g[TRANS_A], number(g[ALPHA]), number(g[BETA]), g[B], g[LDB], g[A], g[LDA], g[C],
                       g[LDC])
             ? ILLEGAL_ADDRESS
             : OK;
}

// extent is the number of elements that a column-major matrix of rows x columns spans.
static uint64_t extent(uint64_t rows, uint64_t columns, uint64_t ld) { return rows && columns ? (columns - 1) * ld + rows : 0; }

// kind_of returns the kind of a product with these types, or -1.
static int kind_of(int a, int b, int c, int compute) {
  static const struct { int in, out, compute; } kinds[] = {{0, 0, 68}, {0, 0, 77}, {1, 1, 70}, {14, 0, 68}, {3, 10, 72}};
  for (int k = FLOAT; k <= INTEGER; k++)
    if (a == kinds[k].in && b == a && c == kinds[k].out && compute == kinds[k].compute) return k;
  return -1;
}

// integers_fit reports whether tensor cores take a product of integers: A^T B, shapes and strides in fours, and no scales.
static int integers_fit(int trans_a, int trans_b, int m, int k, const void *alpha, const void *beta, int lda, int ldb, int ldc, uint64_t at) {
  return trans_a && !trans_b && *(int32_t *)alpha == 1 && *(int32_t *)beta == 0 && (m | k | lda | ldb | ldc) % 4 == 0 && at % 4 == 0;
}

API int cublasGemmEx(handle *h, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                     const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algorithm) {
  int asked = fails("cublasGemmEx"), kind = kind_of(type_a, type_b, type_c, compute);
  if (!asked && kind == INTEGER) asked = atoi(setting("PPAL_STUB_INTEGERS", "0"));
  if (asked) return asked;
  if (!has_context() || !h->workspace || h->math_mode != 0 || algorithm != -1) return NOT_INITIALIZED;
  if (kind < 0 || (kind == INTEGER && !integers_fit(trans_a, trans_b, m, k, alpha, beta, lda, ldb, ldc, (uint64_t)a | (uint64_t)b | (uint64_t)c)))
    return NOT_SUPPORTED;
  if (lda < (trans_a ? k : m) || ldb < (trans_b ? n : k) || ldc < m) return BAD_VALUE;
  size_t in = kind == DOUBLE ? 8 : kind == BFLOAT ? 2 : kind == INTEGER ? 1 : 4, out = kind == DOUBLE ? 8 : 4;
  if (!inside((uint64_t)a, in * extent(trans_a ? k : m, trans_a ? m : k, lda)) ||
      !inside((uint64_t)b, in * extent(trans_b ? n : k, trans_b ? k : n, ldb)) || !inside((uint64_t)c, out * extent(m, n, ldc)))
    return 14; // an address that is not the device's
  double scale_ab = kind == DOUBLE ? *(double *)alpha : *(float *)alpha, scale_c = kind == DOUBLE ? *(double *)beta : *(float *)beta;
  return submit(h->stream, &(work){.run = multiply,
                                   .args = {trans_a, trans_b, m, n, k, (uint64_t)a, lda, (uint64_t)b, ldb, (uint64_t)c, ldc, kind,
                                            bits_of(scale_ab), bits_of(scale_c)}})
             ? 13
             : 0;
}

API int cublasGemmStridedBatchedEx(handle *h, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const char *a, int type_a,
                                   int lda, long long step_a, const char *b, int type_b, int ldb, long long step_b, const void *beta, char *c,
                                   int type_c, int ldc, long long step_c, int count, int compute, int algorithm) {
  int asked = fails("cublasGemmStridedBatchedEx"), kind = kind_of(type_a, type_b, type_c, compute);
  if (asked) return asked;
  long long in = kind == DOUBLE ? 8 : kind == BFLOAT ? 2 : kind == INTEGER ? 1 : 4, out = kind == DOUBLE ? 8 : 4;
  logged("%d products", count);
  for (int i = 0; i < count; i++) {
    int status = cublasGemmEx(h, trans_a, trans_b, m, n, k, alpha, a + i * step_a * in, type_a, lda, b + i * step_b * in, type_b, ldb, beta,
                              c + i * step_c * out, type_c, ldc, compute, algorithm);
    if (status) return status;
  }
  return 0;
}
