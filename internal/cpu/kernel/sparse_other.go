//go:build !amd64

package kernel

func sparse32(Level) sparse[float32] { return sparseGo[float32]() }

func sparse64(Level) sparse[float64] { return sparseGo[float64]() }
