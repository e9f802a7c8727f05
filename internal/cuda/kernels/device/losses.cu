// The rows' losses and their derivatives, one thread for each row: plan.MarginLoss, SignedLoss,
// GroupMeansGrad.
#include "losses.cuh"
#include "means_grad.cuh"

#define FOR_ROWS(i, rows)                                                                                                         \
  for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += (int64)gridDim.x * blockDim.x)

KERNEL(margin_loss)(int64 phi, const int *labels, const real *s, int64 ss, int64 rows, int64 cols, real *out, int64 os) {
  FOR_ROWS(i, rows) out[i * os] = (real)margin_row(phi, s + i * ss, cols, labels[i]);
}
EXPORT(margin_loss)

KERNEL(signed_loss)(int64 phi, const signed char *labels, const real *s, int64 ss, int64 rows, int64 cols, real *out, int64 os) {
  FOR_ROWS(i, rows) out[i * os] = (real)signed_row(phi, s[i * ss], labels[i]);
}
EXPORT(signed_loss)

// The factor of a row's loss is d or, with a table, the row of M^T w.
KERNEL(margin_loss_grad)(int64 phi, const int *labels, const real *s, int64 ss, int64 rows, int64 cols, const real *d, int64 ds,
                         const char *table, real *out, int64 os, int64 add) {
  FOR_ROWS(i, rows) {
    double dl = table ? row_weight(table, i) : d[i * ds], sum = 0;
    int own = labels[i];
    double c = s[i * ss + own];
    for (int64 j = 0; j < cols; j++) {
      if (j == own) continue;
      double g = dl * phi_deriv(phi, margin(c, s[i * ss + j]));
      sum += g;
      out[i * os + j] = (real)(add ? out[i * os + j] - g : -g);
    }
    out[i * os + own] = (real)(add ? out[i * os + own] + sum : sum);
  }
}
EXPORT(margin_loss_grad)

KERNEL(signed_loss_grad)(int64 phi, const signed char *labels, const real *s, int64 ss, int64 rows, int64 cols, const real *d,
                         int64 ds, const char *table, real *out, int64 os, int64 add) {
  FOR_ROWS(i, rows) {
    double y = labels[i], dl = table ? row_weight(table, i) : d[i * ds];
    double g = dl * y * phi_deriv(phi, y * s[i * ss]);
    out[i * os] = (real)(add ? out[i * os] + g : g);
  }
}
EXPORT(signed_loss_grad)

KERNEL(group_means_grad)(const char *table, int64 rows, real *out, int64 os, int64 add) {
  FOR_ROWS(i, rows) {
    double sum = row_weight(table, i);
    out[i * os] = (real)(add ? out[i * os] + sum : sum);
  }
}
EXPORT(group_means_grad)
