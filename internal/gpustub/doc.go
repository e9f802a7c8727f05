// Package gpustub builds a driver and a cuBLAS without a GPU, for tests with the build tag gpu. The
// two are one library, because they share their state. Its sources are in
// internal/cuda/nvidia/testdata/stub, and stub.h describes the environment variables that make the
// library fail.
package gpustub
