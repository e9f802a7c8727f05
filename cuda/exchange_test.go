package cuda_test

import (
	"errors"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// Kernels exchange f, g and the coefficients through mapped pinned memory, so a steady iteration
// copies nothing. If the device cannot map memory, copies follow and precede the kernels, and
// nothing fails.
func TestExchangeWithoutCopies(t *testing.T) {
	for name, c := range map[string]struct {
		o      cuda.Options
		fails  bool
		copies int
	}{"mapped": {cuda.Options{}, false, 0}, "refused": {cuda.Options{}, true, 1}, "by choice": {cuda.Options{Copies: true}, false, 1}} {
		d, r := recorded(t, c.o, 0)
		if c.fails {
			r.FailAt("Mapped", 1, errors.New("not on this device"))
		}
		p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
		v := p.Space().New()
		up, down := r.Count("Upload"), r.Count("Download")
		iterate(t, p, 1, v)
		if up, down = r.Count("Upload")-up, r.Count("Download")-down; up != c.copies || down != c.copies {
			t.Errorf("%s: %d uploads and %d downloads, want %d of each", name, up, down, c.copies)
		}
		if _, err := small(t).Problem(tensor.Float32, graph.On(d)); err != nil {
			t.Errorf("%s: a second program: %v", name, err)
		}
	}
}

// The kernels of means write f and g to the host's memory themselves. Another kernel follows them
// if an expression writes f or g, and if the device cannot map memory. One kernel fetches the
// coefficients.
func TestKernelsOfTheExchange(t *testing.T) {
	for _, c := range []struct {
		name    string
		problem graphcases.Case
		o       cuda.Options
		pack    bool
	}{
		{"means", small(t), cuda.Options{}, false},
		{"means, by copies", small(t), cuda.Options{Copies: true}, true},
		{"windows", small(t), cuda.Options{MicroBatch: 50}, false},
		{"expressions", graphcases.Expressions()[0], cuda.Options{}, true},
	} {
		d, r := recorded(t, c.o, 0)
		p := require.Value(c.problem.Problem(tensor.Float32, graph.On(d)))(t)
		iterate(t, p, 1, p.Space().New())
		launched := map[string]bool{}
		for _, call := range r.Calls() {
			launched[strings.TrimSuffix(call.Name, "_f32")] = call.Kind == "Launch"
		}
		if launched["pack"] != c.pack || !launched["unpack"] {
			t.Errorf("%s: pack %v, unpack %v, want %v, true", c.name, launched["pack"], launched["unpack"], c.pack)
		}
	}
}
