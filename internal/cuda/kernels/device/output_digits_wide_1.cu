// The pass of output_digits.cu for 1 score, with loads of 128 bits: kernels.OutputBackward.
#include "output_digits_wide.cuh"

OUTPUT_DIGITS_WIDE(output_digits_wide_1_3_relu, 1, 1, 3, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_1_3_sigmoid, 1, 1, 3, SIGMOID)
