//go:build !gpu

// Package emulator emulates a CUDA device on the host. It needs the build tag gpu.
package emulator
