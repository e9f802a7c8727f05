//go:build gpu

#include "calls.h"

// cuda.h declares this function in old versions only.
CUresult cuGraphInstantiate_v2(CUgraphExec *graph, CUgraph captured, CUgraphNode *error, char *log, size_t size);

CUresult ppal_enter(CUcontext context) {
  CUcontext now;
  if (cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context) return CUDA_SUCCESS;
  return cuCtxSetCurrent(context);
}

enum { MOST_ARGS = 512 }; // 4 KiB, the driver's limit before CUDA 12.1

CUresult ppal_launch(CUfunction f, const unsigned shape[7], const uint64_t *args, int count, CUstream s) {
  void *slots[MOST_ARGS];
  if (count > MOST_ARGS) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < count; i++) slots[i] = (void *)&args[i];
  return cuLaunchKernel(f, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6], s, slots, NULL);
}

CUresult ppal_load(CUmodule *module, const char *ptx, char *log, size_t size) {
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)size};
  log[0] = 0;
  return cuModuleLoadDataEx(module, ptx, 2, options, values);
}

CUresult ppal_end_capture(CUstream s, CUgraphExec *graph, const char **failed) {
  CUgraph captured = NULL;
  *failed = "cuStreamEndCapture";
  CUresult result = cuStreamEndCapture(s, &captured);
  if (result != CUDA_SUCCESS) return result;
  *failed = "cuGraphInstantiateWithFlags";
  result = cuGraphInstantiateWithFlags(graph, captured, 0);
  if (result == CUDA_ERROR_STUB_LIBRARY) { // shim.c's answer for a missing function: the driver is older than CUDA 11.4
    *failed = "cuGraphInstantiate_v2";
    result = cuGraphInstantiate_v2(graph, captured, NULL, NULL, 0);
  }
  cuGraphDestroy(captured); // the instance does not need it
  return result;
}
