// The pass of output_digits.cu for 2 scores, with loads of 128 bits: kernels.OutputBackward.
#include "output_digits_wide.cuh"

OUTPUT_DIGITS_WIDE(output_digits_wide_2_3_relu, 2, 2, 3, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_2_3_sigmoid, 2, 2, 3, SIGMOID)
