//go:build gpu

// The kernels of float, for the host.
#define PPAL_HOST
#define PPAL_F32
#include "host.h"

namespace f32 {
#include "host_sources.h"
} // namespace f32
