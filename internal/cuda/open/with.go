//go:build gpu

package open

import (
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
)

// Open opens the GPU with that ordinal, counted from 0. The error wraps driver.ErrUnavailable and
// says what is missing.
func Open(ordinal int) (driver.Driver, error) { return nvidia.Open(ordinal) }

// Devices lists the GPUs of this machine. The error says what Open would lack; the list may be
// complete nevertheless.
func Devices() ([]driver.Info, error) { return nvidia.Devices() }
