// The surrogates of the error and their derivatives, functions of the margin in float64:
// constraints.Phi.
#pragma once
#include "common.cuh"

enum { PHI_SIGMOID, PHI_LOGISTIC, PHI_HINGE };

// phi_sigmoid is 1/(1 + e^y).
__device__ inline double phi_sigmoid(double y) {
  double e = exp(-fabs(y)), d = 1 + e;
  return y > 0 ? e / d : 1 / d;
}

__device__ inline double phi_value(int phi, double y) {
  switch (phi) {
  case PHI_SIGMOID: return phi_sigmoid(y);
  case PHI_LOGISTIC: return (y < 0 ? -y : 0) + log1p(exp(-fabs(y)));
  }
  double h = 1 - y;
  return h <= 0 ? 0 : h; // NaN stays
}

__device__ inline double phi_deriv(int phi, double y) {
  switch (phi) {
  case PHI_SIGMOID: {
    double e = exp(-fabs(y)), d = 1 + e;
    return -e / (d * d);
  }
  case PHI_LOGISTIC: return -phi_sigmoid(y);
  }
  return y < 1 ? -1 : y >= 1 ? 0 : y; // NaN stays
}

// margin is x - y, and 0 for equal infinities.
__device__ inline double margin(double x, double y) { return x == y ? 0 : x - y; }
