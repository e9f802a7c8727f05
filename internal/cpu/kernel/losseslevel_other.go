//go:build !amd64

package kernel

func losses32(Level) losses[float32] { return lossesGo[float32]() }

func losses64(Level) losses[float64] { return lossesGo[float64]() }
