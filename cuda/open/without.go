//go:build !gpu

package open

import (
	"fmt"

	"ppal/cuda/driver"
)

// errBuild is what a build without the tag gpu answers.
var errBuild = fmt.Errorf("cuda: %w: this program was built without GPU support; `make gpu` builds bin/ppal-gpu, which has it",
	driver.ErrUnavailable)

// Open opens the GPU with that ordinal, counted from 0. The error wraps driver.ErrUnavailable and says what is missing.
func Open(int) (driver.Driver, error) { return nil, errBuild }

// Devices are the GPUs of this machine; the error is Open's.
func Devices() ([]driver.Info, error) { return nil, errBuild }
