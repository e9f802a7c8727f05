// The activations and their derivatives, accurate to a few ulps without overflow: plan.Unary.
#pragma once
#include "common.cuh"

enum { IDENTITY, SIGMOID, TANH, RELU };

// sigmoid is 1/(1 + e^-x).
__device__ inline real sigmoid(real x) {
  real e = exp(-fabs(x)), r = 1 / (1 + e);
  return x < 0 ? e * r : r;
}

// relu keeps the sign of what it cuts: -0 for x < 0, and +0 for -0.
__device__ inline real relu(real x) { return x < 0 ? (real)-0.0 : x + (real)0; }

__device__ inline real activation(int f, real x) {
  switch (f) {
  case SIGMOID: return sigmoid(x);
  case TANH: return tanh(x);
  case RELU: return relu(x);
  }
  return x;
}

// slope is the derivative written in a = f(x).
__device__ inline real slope(int f, real a) {
  switch (f) {
  case SIGMOID: return a * (1 - a);
  case TANH: return 1 - a * a;
  case RELU: return signbit(a) ? 0 : 1;
  }
  return 1;
}
