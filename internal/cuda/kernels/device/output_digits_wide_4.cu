// The pass of output_digits.cu for 4 scores, with loads of 128 bits: kernels.OutputBackward.
#include "output_digits_wide.cuh"

OUTPUT_DIGITS_WIDE(output_digits_wide_4_2_relu, 4, 4, 2, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_4_2_sigmoid, 4, 4, 2, SIGMOID)
OUTPUT_DIGITS_WIDE(output_digits_wide_4_3_relu, 4, 4, 3, RELU)
OUTPUT_DIGITS_WIDE(output_digits_wide_4_3_sigmoid, 4, 4, 3, SIGMOID)
