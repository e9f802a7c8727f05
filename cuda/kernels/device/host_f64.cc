//go:build gpu

// The kernels of double, for the host.
#define PPAL_HOST
#define PPAL_F64
#include "host.h"

namespace f64 {
#include "common.cuh"
#include "columns.cuh"
#include "activations.cuh"
#include "losses.cuh"
#include "spread.cuh"
#include "vectors.cuh"
namespace bias_cu {
#include "bias.cu"
}
namespace data_cu {
#include "data.cu"
}
namespace groups_cu {
#include "groups.cu"
}
namespace interpret_cu {
#include "interpret.cu"
}
namespace losses_cu {
#include "losses.cu"
}
namespace means_cu {
#include "means.cu"
}
namespace output_backward_cu {
#include "output_backward.cu"
}
namespace output_forward_cu {
#include "output_forward.cu"
}
namespace pair_cu {
#include "pair.cu"
}
namespace slopes_cu {
#include "slopes.cu"
}
namespace sparse_cu {
#include "sparse.cu"
}
namespace split_cu {
#include "split.cu"
}
namespace sums_cu {
#include "sums.cu"
}
namespace vectors_cu {
#include "vectors.cu"
}
} // namespace f64
