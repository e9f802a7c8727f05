// The passes around a factor with 3 columns, with loads and stores of 128 bits:
// kernels.OutputForward, kernels.OutputBackward.
#include "output_backward_wide.cuh"
#include "output_forward_wide.cuh"

OUTPUT_FORWARD_WIDE(output_forward_wide_3_none, 3, 3, NONE, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_3_relu, 3, 3, RELU, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_3_sigmoid, 3, 3, SIGMOID, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_3_relu, 3, 3, RELU, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_3_sigmoid, 3, 3, SIGMOID, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_3_tanh, 3, 3, TANH, 2)
