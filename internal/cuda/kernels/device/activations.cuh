// The activations and their derivatives, accurate to a few ulps without overflow: plan.Unary.
#pragma once
#include "common.cuh"

enum { IDENTITY, SIGMOID, TANH, RELU };

// reciprocal is 1/x for x between 1 and 2, in float to 2 ulps.
__device__ inline float reciprocal(float x) { return __fdividef(1, x); }
__device__ inline double reciprocal(double x) { return 1 / x; }

// sigmoid is 1/(1 + e^-x).
__device__ inline real sigmoid(real x) {
  real e = exp(-fabs(x)), r = reciprocal(1 + e);
  return x < 0 ? e * r : r;
}

// relu keeps the sign of a negative input: it returns -0 for x < 0, and +0 for -0.
__device__ inline real relu(real x) { return x < 0 ? (real)-0.0 : x + (real)0; }

__device__ inline real activation(int f, real x) {
  switch (f) {
  case SIGMOID: return sigmoid(x);
  case TANH: return tanh(x);
  case RELU: return relu(x);
  }
  return x;
}

// activations applies f to n numbers.
template <int n> __device__ inline void activations(int f, real *v) {
  if (f == SIGMOID) {
#pragma unroll
    for (int i = 0; i < n; i++) v[i] = sigmoid(v[i]);
  } else if (f == TANH) {
#pragma unroll
    for (int i = 0; i < n; i++) v[i] = tanh(v[i]);
  } else if (f == RELU) {
#pragma unroll
    for (int i = 0; i < n; i++) v[i] = relu(v[i]);
  }
}

// slope is the derivative f'(x) as a function of a = f(x).
__device__ inline real slope(int f, real a) {
  switch (f) {
  case SIGMOID: return a * (1 - a);
  case TANH: return 1 - a * a;
  case RELU: return signbit(a) ? 0 : 1;
  }
  return 1;
}
