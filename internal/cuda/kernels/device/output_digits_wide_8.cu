// The pass of output_digits.cu for 5 to 8 scores, with loads of 128 bits: kernels.OutputBackward.
#include "output_digits_wide.cuh"

OUTPUT_DIGITS_WIDE(output_digits_wide_8_3_relu, 8, 5, 3, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_8_3_sigmoid, 8, 5, 3, SIGMOID)
