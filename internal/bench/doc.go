// Package bench times iterations on this machine and compares them with their floor, the bare
// products with the data matrix. The products have the same shape and the same kernels, and run in
// turns with the iterations.
//
// `ppal train` repeats such an iteration between two records: forward pass, dual update, backward
// pass, primal step with its proximal map. Nothing is recorded during the timing.
package bench
