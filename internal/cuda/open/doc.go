// Package open opens GPUs in builds with GPU support (build tag gpu). In other builds, its errors
// say how to get GPU support.
package open
