package cuda_test

import (
	"strings"
	"testing"

	"ppal/cuda"
	"ppal/cuda/double"
	"ppal/cuda/driver"
)

// GPUs of different models, or with different options, share no rows.
func TestTogetherRefusesOtherModels(t *testing.T) {
	open := func(o cuda.Options, ordinal, processors int) *cuda.Device {
		r := double.New(double.Options{Info: driver.Info{Ordinal: ordinal, Name: "A", Major: 8, Processors: processors, Products: "none"}})
		d, err := cuda.Open(r, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if len(r.Violations()) > 0 {
				t.Error(r.Violations())
			}
		})
		return d
	}
	_, err := cuda.Together(open(cuda.Options{}, 0, 10), open(cuda.Options{}, 3, 11))
	if err == nil || !strings.Contains(err.Error(), "cuda:0 is A (8.0, 10 multiprocessors, none), cuda:3 is A (8.0, 11 multiprocessors, none)") {
		t.Errorf("error %v", err)
	}
	if _, err := cuda.Together(open(cuda.Options{}, 0, 10), open(cuda.Options{NoGraphs: true}, 1, 10)); err == nil {
		t.Error("no error")
	}
	s, err := cuda.Together(open(cuda.Options{}, 2, 10), open(cuda.Options{}, 1, 10))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Ordinals(); len(got) != 2 || got[0] != 2 || got[1] != 1 {
		t.Errorf("GPUs %v", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
