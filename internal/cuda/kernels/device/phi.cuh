// The surrogates of the error and their derivatives, functions of the margin in float64:
// constraints.Phi. Float64 plans compute them by exp and log1p.
#pragma once
#include "common.cuh"

enum { PHI_SIGMOID, PHI_LOGISTIC, PHI_HINGE };

#ifdef PPAL_F32
// Kernels of float32 plans round the results to float32. Their exponentials have a relative error
// of 2^-24, with a third of the instructions of exp.

// exp_minus returns e^-y for y >= 0: 2^k (1 + f q(f)) with k + f = -y/log(2), |f| <= 1/2. The
// polynomial q interpolates (2^f - 1)/f in six Chebyshev nodes. NaN stays.
__device__ inline double exp_minus(double y) {
  const double whole = 0x1.8p52; // a sum with this number is rounded to an integer
  double t = y * -1.4426950408889634;
  t = t < -1021 ? -1021 : t;
  double k = t + whole;
  float f = (float)(t - (k - whole));
  float q = 0.00015453163f;
  q = q * f + 0.0013390863f;
  q = q * f + 0.0096180826f;
  q = q * f + 0.055503571f;
  q = q * f + 0.24022651f;
  q = q * f + 0.69314719f;
  return (1 + (double)(q * f)) * power_of_two(k);
}

// quotient returns x/d for 1 <= d <= 2: one step of Newton from the float32 reciprocal.
__device__ inline double quotient(double x, double d) {
  double r = __fdividef(1.0f, (float)d);
  return x * (r * (2 - d * r));
}

// quotient_of_square returns x/d^2.
__device__ inline double quotient_of_square(double x, double d) {
  double r = quotient(1, d);
  return x * r * r;
}

__device__ inline double log_of_one_plus(double e) { return log1pf((float)e); }
#else
__device__ inline double exp_minus(double y) { return exp(-y); }
__device__ inline double quotient(double x, double d) { return x / d; }
__device__ inline double quotient_of_square(double x, double d) { return x / (d * d); }
__device__ inline double log_of_one_plus(double e) { return log1p(e); }
#endif

// phi_sigmoid is 1/(1 + e^y).
__device__ inline double phi_sigmoid(double y) {
  double e = exp_minus(fabs(y));
  return quotient(y > 0 ? e : 1, 1 + e);
}

__device__ inline double phi_value(int phi, double y) {
  switch (phi) {
  case PHI_SIGMOID: return phi_sigmoid(y);
  case PHI_LOGISTIC: return (y < 0 ? -y : 0) + log_of_one_plus(exp_minus(fabs(y)));
  }
  double h = 1 - y;
  return h <= 0 ? 0 : h; // NaN stays
}

__device__ inline double phi_deriv(int phi, double y) {
  switch (phi) {
  case PHI_SIGMOID: {
    double e = exp_minus(fabs(y));
    return -quotient_of_square(e, 1 + e);
  }
  case PHI_LOGISTIC: return -phi_sigmoid(y);
  }
  return y < 1 ? -1 : y >= 1 ? 0 : y; // NaN stays
}

// margin is x - y, and 0 for equal infinities.
__device__ inline double margin(double x, double y) { return x == y ? 0 : x - y; }
