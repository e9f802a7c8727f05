// The passes around a factor with 1 column, with loads and stores of 128 bits:
// kernels.OutputForward, kernels.OutputBackward.
#include "output_backward_wide.cuh"
#include "output_forward_wide.cuh"

OUTPUT_FORWARD_WIDE(output_forward_wide_1_none, 1, 1, NONE, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_1_relu, 1, 1, RELU, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_1_sigmoid, 1, 1, SIGMOID, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_1_relu, 1, 1, RELU, 3)
OUTPUT_BACKWARD_WIDE(output_backward_wide_1_sigmoid, 1, 1, SIGMOID, 3)
OUTPUT_BACKWARD_WIDE(output_backward_wide_1_tanh, 1, 1, TANH, 3)
