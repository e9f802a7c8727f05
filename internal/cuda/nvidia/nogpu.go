//go:build !gpu

package nvidia

import (
	"fmt"

	"ppal/internal/cuda/driver"
)

// errBuild is the error of builds without the tag gpu.
var errBuild = fmt.Errorf("cuda: %w: %w; `make gpu` builds bin/ppal-gpu, which has it", driver.ErrUnavailable,
	driver.ErrNoSupport)

// Open returns an error that wraps driver.ErrUnavailable and says how to get GPU support.
func Open(int) (driver.Driver, error) { return nil, errBuild }

// Devices returns the error of Open.
func Devices() ([]driver.Info, error) { return nil, errBuild }
