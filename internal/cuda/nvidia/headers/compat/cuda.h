// Lets gorgonia.org/cu compile with the headers of CUDA 12.8 and 13, in which some names stand for
// newer functions, five of them with other arguments. Every driver has the functions that cu
// expects. Older headers are unchanged.
#ifndef PPAL_COMPAT_H
#define PPAL_COMPAT_H
#include_next <cuda.h>
#if CUDA_VERSION >= 13000
#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#define cuCtxCreate cuCtxCreate_v2
CUresult cuCtxCreate_v2(CUcontext *, unsigned int, CUdevice);
CUresult cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUdevice);
CUresult cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream);
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
CUresult cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
#endif
#ifdef cuEventElapsedTime
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *, CUevent, CUevent);
#endif
#ifdef cuDeviceGetUuid
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid *, CUdevice);
#endif
#endif
