//go:build gpu

package nvidia_test

import (
	"testing"

	"ppal/internal/cuda/driver"
)

func inspect(d driver.Driver) driver.Inspector { return d.(driver.Inspector) }

// The registers, the memory and the occupancy of a kernel are the driver's.
func TestResources(t *testing.T) {
	d := open(t)
	f := must[driver.Function](t)(d.Function(must[driver.Module](t)(d.Load(ptx)), "store"))
	got := must[driver.Resources](t)(inspect(d).Resources(f, 256))
	if want := (driver.Resources{Registers: 80, Local: 16, Shared: 4096, Resident: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
