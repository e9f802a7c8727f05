// What cu lacks of the driver's interface.
#ifndef PPAL_CALLS_H
#define PPAL_CALLS_H

#include <cuda.h>

// ppal_enter makes the context current on this thread, if it is not.
CUresult ppal_enter(CUcontext context);

// ppal_launch launches a kernel whose arguments are 8 bytes each.
CUresult ppal_launch(CUfunction f, const unsigned shape[7], const uint64_t *args, int count, CUstream s);

// ppal_load compiles PTX; what the compiler says against it goes to log.
CUresult ppal_load(CUmodule *module, const char *ptx, char *log, size_t size);

// ppal_end_capture makes a graph of what s captured, ready to launch.
CUresult ppal_end_capture(CUstream s, CUgraphExec *graph, const char **failed);

#endif
