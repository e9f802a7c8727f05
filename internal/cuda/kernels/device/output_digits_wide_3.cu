// The pass of output_digits.cu for 3 scores, with loads of 128 bits: kernels.OutputBackward.
#include "output_digits_wide.cuh"

OUTPUT_DIGITS_WIDE(output_digits_wide_3_3_relu, 3, 3, 3, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_3_3_sigmoid, 3, 3, 3, SIGMOID)
