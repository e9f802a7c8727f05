// Package bench times iterations on this machine against the work that no iteration can do without:
// the bare products with the data matrix, of the same shape, with the same kernels, in turns in the
// same run.
//
// An iteration is what `ppal train` repeats between two records: forward pass, dual updates,
// backward pass, primal step with its proximal map. Nothing is recorded while it is timed.
package bench
