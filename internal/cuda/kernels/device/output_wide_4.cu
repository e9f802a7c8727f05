// The passes around a factor with 4 columns, with loads and stores of 128 bits:
// kernels.OutputForward, kernels.OutputBackward.
#include "output_backward_wide.cuh"
#include "output_forward_wide.cuh"

OUTPUT_FORWARD_WIDE(output_forward_wide_4_none, 4, 4, NONE, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_4_relu, 4, 4, RELU, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_4_sigmoid, 4, 4, SIGMOID, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_4_relu, 4, 4, RELU, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_4_sigmoid, 4, 4, SIGMOID, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_4_tanh, 4, 4, TANH, 2)
