// The passes around a factor with 2 columns, with loads and stores of 128 bits:
// kernels.OutputForward, kernels.OutputBackward.
#include "output_backward_wide.cuh"
#include "output_forward_wide.cuh"

OUTPUT_FORWARD_WIDE(output_forward_wide_2_none, 2, 2, NONE, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_2_relu, 2, 2, RELU, 2)
OUTPUT_FORWARD_WIDE(output_forward_wide_2_sigmoid, 2, 2, SIGMOID, 2)
OUTPUT_BACKWARD_WIDE(output_backward_wide_2_relu, 2, 2, RELU, 3)
OUTPUT_BACKWARD_WIDE(output_backward_wide_2_sigmoid, 2, 2, SIGMOID, 3)
OUTPUT_BACKWARD_WIDE(output_backward_wide_2_tanh, 2, 2, TANH, 3)
