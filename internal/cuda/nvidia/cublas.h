// The cuBLAS functions that products need, looked up at run time. They are the same in cuBLAS 11,
// 12 and 13.
#ifndef PPAL_CUBLAS_H
#define PPAL_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

typedef struct ppal_cublas {
  void *library;
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*set_workspace)(void *handle, void *workspace, size_t bytes);
  int (*set_math_mode)(void *handle, int mode);
  int (*property)(int which, int *value);
  const char *(*status_name)(int status);
  const char *(*status_string)(int status);
  int (*gemm)(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
              const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algorithm);
  int (*gemm_batched)(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                      long long step_a, const void *b, int type_b, int ldb, long long step_b, const void *beta, void *c, int type_c, int ldc,
                      long long step_c, int count, int compute, int algorithm);
} ppal_cublas;

// ppal_cublas_open fills l from a file, or returns 1 with the reason in why. The companion, which
// may be null, is a library that the file needs.
int ppal_cublas_open(ppal_cublas *l, const char *file, const char *companion, char *why, size_t size);

// ppal_cublas_version sets version to major, minor and patch.
int ppal_cublas_version(const ppal_cublas *l, int version[3]);

// ppal_cublas_create creates a handle for a stream with a workspace, in the default math mode: no
// TF32 unless a call asks for it.
int ppal_cublas_create(const ppal_cublas *l, void **handle, void *stream, uint64_t workspace, size_t bytes);

int ppal_cublas_destroy(const ppal_cublas *l, void *handle);

// A column-major product C (m x n) = alpha op(A) op(B) + beta C with inner dimension k. count > 1
// is a strided batch.
typedef struct ppal_product {
  int precision; // driver.Precision
  int trans_a, trans_b, m, n, k, lda, ldb, ldc;
  double alpha, beta;
  uint64_t a, b, c;
  int count;
  int64_t step_a, step_b, step_c; // the distances between consecutive operands, in elements
} ppal_product;

int ppal_cublas_multiply(const ppal_cublas *l, void *handle, const ppal_product *p);

const char *ppal_cublas_name(const ppal_cublas *l, int status);
const char *ppal_cublas_string(const ppal_cublas *l, int status);

#endif
