// The geometry of windows over pictures, as parameters of kernels.
#pragma once
#include "common.cuh"

// The geometry of windows: plan.Window.
struct Window {
  int channels, height, width, lines, columns, top, left, stride_y, stride_x, dilation_y, dilation_x, out_height, out_width;

  __device__ bool inside(int y, int x) const { return (unsigned)y < (unsigned)height && (unsigned)x < (unsigned)width; }
};

#define WINDOW                                                                                                        \
  int64 channels, int64 height, int64 width, int64 lines, int64 columns, int64 top, int64 left, int64 stride_y,       \
      int64 stride_x, int64 dilation_y, int64 dilation_x, int64 out_height, int64 out_width
#define WINDOW_OF                                                                                                     \
  {(int)channels, (int)height,     (int)width,      (int)lines,      (int)columns,    (int)top,      (int)left,       \
   (int)stride_y, (int)stride_x, (int)dilation_y, (int)dilation_x, (int)out_height, (int)out_width}
