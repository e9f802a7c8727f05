// The passes around a factor with 9 and 10 columns, with loads and stores of 128 bits:
// kernels.OutputForward, kernels.OutputBackward.
#include "output_backward_wide.cuh"
#include "output_forward_wide.cuh"

OUTPUT_FORWARD_WIDE(output_forward_wide_10_none, 10, 9, NONE, 1)
OUTPUT_FORWARD_WIDE(output_forward_wide_10_relu, 10, 9, RELU, 1)
OUTPUT_FORWARD_WIDE(output_forward_wide_10_sigmoid, 10, 9, SIGMOID, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_10_relu, 10, 9, RELU, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_10_sigmoid, 10, 9, SIGMOID, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_10_tanh, 10, 9, TANH, 1)
