//go:build gpu

// The kernels of double, for the host.
#define PPAL_HOST
#define PPAL_F64
#include "host.h"

namespace f64 {
#include "host_sources.h"
} // namespace f64
