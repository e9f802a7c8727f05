//go:build gpu

package gpucheck

import (
	"strings"
	"testing"

	"ppal/cuda/double"
	"ppal/cuda/driver"
)

// The case of several GPUs passes on two emulated GPUs, with and without access to each other's
// memory, and on one GPU that is opened twice. The second half of the results adds on the host.
func TestSeveral(t *testing.T) {
	for _, c := range []struct {
		noPeers bool
		listed  int
	}{{false, 2}, {true, 2}, {false, 1}} {
		var devices []*double.Driver
		o := Options{Log: t.Logf, Devices: func() ([]driver.Info, error) {
			return []driver.Info{{Ordinal: 0}, {Ordinal: 1}}[:c.listed], nil
		}}
		opened := 0
		o.OpenAt = func(n int) (driver.Driver, error) {
			if opened%2 == 0 {
				devices = append(devices, double.ComputingMachine(double.Options{NoPeers: c.noPeers}, 2)...)
			}
			if opened++; n >= c.listed {
				t.Errorf("device %d of %d was opened", n, c.listed)
			}
			return devices[opened-1], nil
		}
		list, err := several(t.Context(), o)
		allPassed(t, list, err)
		if len(list) != 4 || opened != 4 {
			t.Fatalf("%d results, %d devices opened", len(list), opened)
		}
		for i, r := range list {
			if direct := strings.Contains(r.Detail, "reading each other's memory"); direct != (i < 2 && !c.noPeers) {
				t.Errorf("%+v: result %d: %s", c, i, r.Detail)
			}
			if once := strings.Contains(r.Name, "one GPU, opened twice"); once != (c.listed == 1) {
				t.Errorf("%+v: %s", c, r.Name)
			}
		}
		for _, d := range devices {
			if v := d.Violations(); v != nil {
				t.Error(v)
			}
		}
	}
}
