// The pass of output_digits.cu for 16 scores, with loads of 128 bits: kernels.OutputBackward.
#include "output_digits_wide.cuh"

OUTPUT_DIGITS_WIDE(output_digits_wide_16_3_relu, 16, 16, 3, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_16_3_sigmoid, 16, 16, 3, SIGMOID)
