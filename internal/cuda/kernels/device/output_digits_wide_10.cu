// The pass of output_digits.cu for 9 and 10 scores, with loads of 128 bits: kernels.OutputBackward.
#include "output_digits_wide.cuh"

OUTPUT_DIGITS_WIDE(output_digits_wide_10_3_relu, 10, 9, 3, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_10_3_sigmoid, 10, 9, 3, SIGMOID)
