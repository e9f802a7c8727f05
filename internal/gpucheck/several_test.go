//go:build gpu

package gpucheck

import (
	"strings"
	"testing"

	"ppal/cuda/double"
	"ppal/cuda/driver"
)

// The case of several GPUs passes on two emulated GPUs, with and without access to each other's
// memory, and does not run on one GPU.
func TestSeveral(t *testing.T) {
	for _, noPeers := range []bool{false, true} {
		devices := double.ComputingMachine(double.Options{NoPeers: noPeers}, 2)
		o := Options{Log: t.Logf, OpenAt: func(n int) (driver.Driver, error) { return devices[n], nil },
			Devices: func() (list []driver.Info, _ error) {
				for _, d := range devices {
					list = append(list, d.Info())
				}
				return list, nil
			}}
		list, err := several(t.Context(), o)
		allPassed(t, list, err)
		if direct := strings.Contains(list[0].Detail, "reading each other's memory"); direct == noPeers {
			t.Errorf("without peers %v: %s", noPeers, list[0].Detail)
		}
		for _, d := range devices {
			if v := d.Violations(); v != nil {
				t.Error(v)
			}
		}
		o.Devices = func() ([]driver.Info, error) { return []driver.Info{{}}, nil }
		list, err = several(t.Context(), o)
		if err != nil || len(list) != 1 || list[0].Status != NotRun || list[0].Detail != "the machine has 1 GPU" {
			t.Errorf("on one GPU: %+v, %v", list, err)
		}
	}
}
