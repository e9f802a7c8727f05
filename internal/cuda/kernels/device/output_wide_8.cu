// The passes around a factor with 5 to 8 columns, with loads and stores of 128 bits:
// kernels.OutputForward, kernels.OutputBackward.
#include "output_backward_wide.cuh"
#include "output_forward_wide.cuh"

OUTPUT_FORWARD_WIDE(output_forward_wide_8_none, 8, 5, NONE, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_8_relu, 8, 5, RELU, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_8_sigmoid, 8, 5, SIGMOID, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_8_relu, 8, 5, RELU, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_8_sigmoid, 8, 5, SIGMOID, 1)
OUTPUT_BACKWARD_WIDE(output_backward_wide_8_tanh, 8, 5, TANH, 1)
