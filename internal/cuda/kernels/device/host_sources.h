// All sources, for the host. Each source has its own namespace, inside the namespace of the
// elements' type.
#include "common.cuh"
#include "columns.cuh"
#include "activations.cuh"
#include "digits.cuh"
#include "dequantize.cuh"
#include "losses.cuh"
#include "output_backward.cuh"
#include "means_grad.cuh"
#include "tensor.cuh"
#include "terms.cuh"
#include "vectors.cuh"
#include "window.cuh"
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
namespace normalize_cu {
#include "normalize.cu"
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
namespace pictures_cu {
#include "pictures.cu"
}
namespace products_cu {
#include "products.cu"
}
namespace rankings_cu {
#include "rankings.cu"
}
namespace slopes_cu {
#include "slopes.cu"
}
namespace sparse_cu {
#include "sparse.cu"
}
namespace sums_cu {
#include "sums.cu"
}
namespace vectors_cu {
#include "vectors.cu"
}
#ifdef PPAL_F32 // FLOAT32_ONLY in compile.py
#include "multiply_digits.cuh"
#include "output_backward_wide.cuh"
#include "output_digits_wide.cuh"
#include "output_forward_wide.cuh"
#include "warpgroup.cuh"
namespace convolve_cu {
#include "convolve.cu"
}
namespace dequantize_cu {
#include "dequantize.cu"
}
namespace integers_cu {
#include "integers.cu"
}
namespace multiply_digits_cu {
#include "multiply_digits.cu"
}
namespace multiply_warpgroups_cu {
#include "multiply_warpgroups.cu"
}
namespace output_digits_cu {
#include "output_digits.cu"
}
namespace output_digits_wide_1_cu {
#include "output_digits_wide_1.cu"
}
namespace output_digits_wide_10_cu {
#include "output_digits_wide_10.cu"
}
namespace output_digits_wide_16_cu {
#include "output_digits_wide_16.cu"
}
namespace output_digits_wide_2_cu {
#include "output_digits_wide_2.cu"
}
namespace output_digits_wide_3_cu {
#include "output_digits_wide_3.cu"
}
namespace output_digits_wide_4_cu {
#include "output_digits_wide_4.cu"
}
namespace output_digits_wide_8_cu {
#include "output_digits_wide_8.cu"
}
namespace output_wide_1_cu {
#include "output_wide_1.cu"
}
namespace output_wide_10_cu {
#include "output_wide_10.cu"
}
namespace output_wide_16_cu {
#include "output_wide_16.cu"
}
namespace output_wide_2_cu {
#include "output_wide_2.cu"
}
namespace output_wide_3_cu {
#include "output_wide_3.cu"
}
namespace output_wide_4_cu {
#include "output_wide_4.cu"
}
namespace output_wide_8_cu {
#include "output_wide_8.cu"
}
namespace split_cu {
#include "split.cu"
}
#endif
