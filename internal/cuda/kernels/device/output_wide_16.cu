// The passes around a factor with 11 to 16 columns, with loads and stores of 128 bits:
// kernels.OutputForward, kernels.OutputBackward.
#include "output_backward_wide.cuh"
#include "output_forward_wide.cuh"

OUTPUT_FORWARD_WIDE(output_forward_wide_16_none, 16, 11, NONE, 1)
OUTPUT_FORWARD_WIDE(output_forward_wide_16_relu, 16, 11, RELU, 1)
OUTPUT_FORWARD_WIDE(output_forward_wide_16_sigmoid, 16, 11, SIGMOID, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_16_relu, 16, 11, RELU, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_16_sigmoid, 16, 11, SIGMOID, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_16_tanh, 16, 11, TANH, 1)
