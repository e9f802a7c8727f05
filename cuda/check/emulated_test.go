//go:build gpu

package check

import (
	"context"
	"os"
	"testing"

	"ppal/cuda/driver"
	"ppal/cuda/emulator"
	"ppal/cuda/recorder"
	"ppal/datasets"
)

// emulated are options whose GPU is the emulator behind a recorder: the kernels' own code, every call checked.
func emulated(t *testing.T) Options {
	return Options{Log: t.Logf, Open: func() (driver.Driver, error) {
		r := recorder.New(recorder.Options{Inner: emulator.New(emulator.Options{})})
		t.Cleanup(func() {
			for _, v := range r.Violations() {
				t.Error(v)
			}
		})
		return r, nil
	}}
}

// passed fails where a result is not a pass.
func passed(t *testing.T, list []Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Error("nothing was checked")
	}
	for _, r := range list {
		if r.Status != Passed {
			t.Errorf("%s: %s, %.3g %s, at most %.3g, %s", r.Name, r.Status, r.Value, r.Unit, r.Bound, r.Detail)
		} else {
			t.Logf("%s: %.3g %s, at most %.3g, %s", r.Name, r.Value, r.Unit, r.Bound, r.Detail)
		}
	}
}

// The kernels' code passes the checks: every model and constraint, every precision, slices of rows, every operation on vectors.
func TestParity(t *testing.T) {
	list, err := parity(context.Background(), emulated(t))
	passed(t, list, err)
}

func TestSmall(t *testing.T) {
	list, err := small(context.Background(), emulated(t))
	passed(t, list, err)
}

// So do 200 iterations on a few pictures.
func TestTraining(t *testing.T) {
	dir := os.Getenv("PPAL_DATA")
	if dir == "" {
		t.Skip("PPAL_DATA is not set")
	}
	images, err := datasets.FashionMNISTTraining(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := trainingOn(context.Background(), emulated(t), images, size{20, 8, 200}, size{25, 24, 40})
	passed(t, list, err)
}

// Without the files the training part says so.
func TestTrainingWithoutFiles(t *testing.T) {
	list, err := training(context.Background(), Options{})
	if err != nil || len(list) != 1 || list[0].Status != NotRun {
		t.Errorf("%v, error %v", list, err)
	}
}
