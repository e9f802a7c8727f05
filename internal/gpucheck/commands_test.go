package gpucheck

import (
	"testing"

	"ppal/internal/config"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
)

// A command opens, reads, trains, certifies and writes its files, and lists its seconds by part.
func TestCommands(t *testing.T) {
	c := command{name: "small", settings: config.Values{"dataset": "synthetic", "rows-per-class": "20", "hidden": "4", "iterations": "2"}, seconds: 1e-9}
	r := double.New(double.Options{})
	sum, err := c.run(t.Context(), Options{Open: func() (driver.Driver, error) { return r, nil }})
	if err != nil {
		t.Fatal(err)
	}
	list := c.results(sum)
	if list[0].Status != Failed || list[0].Value <= 0 {
		t.Errorf("%+v exceeds its bound", list[0])
	}
	parts := map[string]float64{}
	for _, result := range list[1:] {
		if result.Status != Measured {
			t.Errorf("%+v", result)
		}
		parts[result.Name] = result.Value
	}
	if parts["small: opening, beside reading"] <= 0 || parts["small: reading"] <= 0 || parts["small: certificates"] <= 0 || parts["small: files"] <= 0 {
		t.Errorf("%v", parts)
	}
	if r.Count("Close") != 1 || r.Violations() != nil {
		t.Errorf("closed %d times, %v", r.Count("Close"), r.Violations())
	}
	missing, err := commandCases()[0].Run(t.Context(), Options{})
	if err != nil || len(missing) != 1 || missing[0].Status != NotRun {
		t.Errorf("without data: %+v, %v", missing, err)
	}
}
