//go:build gpu

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cublas.h"

// Constants of cublas_api.h and library_types.h.
enum { NOT_SUPPORTED = 15 };                                     // cublasStatus_t
enum { DEFAULT_MATH = 0 };                                       // cublasMath_t
enum { OP_N = 0, OP_T = 1 };                                     // cublasOperation_t
enum { R_32F = 0, R_64F = 1, R_8I = 3, R_32I = 10, R_16BF = 14 }; // cudaDataType_t
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_TF32 = 77 }; // cublasComputeType_t
enum { ALGORITHM_DEFAULT = -1 };                                 // cublasGemmAlgo_t

static void *find(ppal_cublas *l, const char *name, const char **lacks) {
  void *p = dlsym(l->library, name);
  if (!p) *lacks = name;
  return p;
}

int ppal_cublas_open(ppal_cublas *l, const char *file, const char *companion, char *why, size_t size) {
  memset(l, 0, sizeof *l);
  if (companion) dlopen(companion, RTLD_NOW | RTLD_LOCAL);
  l->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!l->library) {
    snprintf(why, size, "%s", dlerror());
    return 1;
  }
  const char *lacks = NULL;
  l->create = find(l, "cublasCreate_v2", &lacks);
  l->destroy = find(l, "cublasDestroy_v2", &lacks);
  l->set_stream = find(l, "cublasSetStream_v2", &lacks);
  l->set_workspace = find(l, "cublasSetWorkspace_v2", &lacks);
  l->set_math_mode = find(l, "cublasSetMathMode", &lacks);
  l->property = find(l, "cublasGetProperty", &lacks);
  l->gemm_batched = find(l, "cublasGemmStridedBatchedEx", &lacks);
  l->gemm = find(l, "cublasGemmEx", &lacks);
  l->status_name = dlsym(l->library, "cublasGetStatusName"); // since 11.4
  l->status_string = dlsym(l->library, "cublasGetStatusString");
  if (!lacks) return 0;
  snprintf(why, size, "%s has no %s", file, lacks);
  dlclose(l->library);
  return 1;
}

int ppal_cublas_version(const ppal_cublas *l, int version[3]) {
  for (int i = 0; i < 3; i++) {
    int status = l->property(i, &version[i]);
    if (status) return status;
  }
  return 0;
}

int ppal_cublas_create(const ppal_cublas *l, void **handle, void *stream, uint64_t workspace, size_t bytes) {
  int status = l->create(handle);
  if (status) return status;
  status = l->set_stream(*handle, stream); // takes the workspace away: that comes after it
  if (!status) status = l->set_workspace(*handle, (void *)workspace, bytes);
  if (!status) status = l->set_math_mode(*handle, DEFAULT_MATH);
  if (status) l->destroy(*handle);
  return status;
}

int ppal_cublas_destroy(const ppal_cublas *l, void *handle) { return l->destroy(handle); }

int ppal_cublas_multiply(const ppal_cublas *l, void *handle, const ppal_product *p) {
  // By driver.Precision: the operands' type and bytes, the result's (of four bytes but float64's),
  // and how to compute.
  static const struct { int in, bytes, out, compute; } kinds[] = {{R_32F, 4, R_32F, COMPUTE_32F}, {R_32F, 4, R_32F, COMPUTE_TF32},
      {R_64F, 8, R_64F, COMPUTE_64F}, {R_16BF, 2, R_32F, COMPUTE_32F}, {R_8I, 1, R_32I, COMPUTE_32I}};
  if (p->precision < 0 || p->precision >= (int)(sizeof kinds / sizeof *kinds)) return NOT_SUPPORTED;
  int in = kinds[p->precision].in, out = kinds[p->precision].out, compute = kinds[p->precision].compute;
  float alpha = (float)p->alpha, beta = (float)p->beta;
  int32_t whole_alpha = (int32_t)p->alpha, whole_beta = (int32_t)p->beta;
  const void *scale_ab = &alpha, *scale_c = &beta;
  if (compute == COMPUTE_64F) scale_ab = &p->alpha, scale_c = &p->beta;
  if (compute == COMPUTE_32I) scale_ab = &whole_alpha, scale_c = &whole_beta;
  int trans_a = p->trans_a ? OP_T : OP_N, trans_b = p->trans_b ? OP_T : OP_N;
  if (p->count > 1) {
    int status = l->gemm_batched(handle, trans_a, trans_b, p->m, p->n, p->k, scale_ab, (const void *)p->a, in, p->lda, p->step_a,
                                 (const void *)p->b, in, p->ldb, p->step_b, scale_c, (void *)p->c, out, p->ldc, p->step_c, p->count, compute,
                                 ALGORITHM_DEFAULT);
    if (status != NOT_SUPPORTED) return status; // else multiply one after the other
  }
  int64_t bytes = kinds[p->precision].bytes, bytes_out = out == R_64F ? 8 : 4;
  for (int i = 0; i < (p->count > 1 ? p->count : 1); i++) {
    int status = l->gemm(handle, trans_a, trans_b, p->m, p->n, p->k, scale_ab, (const void *)(p->a + i * p->step_a * bytes), in, p->lda,
                         (const void *)(p->b + i * p->step_b * bytes), in, p->ldb, scale_c, (void *)(p->c + i * p->step_c * bytes_out), out,
                         p->ldc, compute, ALGORITHM_DEFAULT);
    if (status) return status;
  }
  return 0;
}

const char *ppal_cublas_name(const ppal_cublas *l, int status) { return l->status_name ? l->status_name(status) : "CUBLAS_STATUS"; }

const char *ppal_cublas_string(const ppal_cublas *l, int status) {
  return l->status_string ? l->status_string(status) : "no description";
}
