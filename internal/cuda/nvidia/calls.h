// The driver's functions that cu lacks.
#ifndef PPAL_CALLS_H
#define PPAL_CALLS_H

#include <cuda.h>

// ppal_enter makes the context current on this thread.
CUresult ppal_enter(CUcontext context);

// ppal_launch launches a kernel whose arguments are 8 bytes each.
CUresult ppal_launch(CUfunction f, const unsigned shape[7], const uint64_t *args, int count, CUstream s);

// ppal_load compiles PTX and writes the compiler's error messages to log.
CUresult ppal_load(CUmodule *module, const char *ptx, char *log, size_t size);

// ppal_end_capture ends the capture on s and instantiates the graph. failed names the call that
// failed.
CUresult ppal_end_capture(CUstream s, CUgraphExec *graph, const char **failed);

#endif
