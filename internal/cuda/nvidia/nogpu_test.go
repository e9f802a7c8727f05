//go:build !gpu

package nvidia_test

import (
	"errors"
	"strings"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
)

// A build without GPU support opens no device, and the error says how to get GPU support.
func TestWithoutSupport(t *testing.T) {
	d, err := nvidia.Open(0)
	if d != nil || !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "make gpu") {
		t.Errorf("device %v, error %v", d, err)
	}
	all, err := nvidia.Devices()
	if all != nil || !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "make gpu") {
		t.Errorf("devices %v, error %v", all, err)
	}
}
