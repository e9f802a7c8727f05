//go:build gpu

package cuda_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/cuda/double"
	"ppal/internal/graphcases"
	"ppal/trainer/graph"
)

var waysToAdd = []cuda.Sums{cuda.PeerSums, cuda.NCCLSums, cuda.HostSums}

// adding opens devices that add sums in one way.
func adding(t *testing.T, sums cuda.Sums, n int) *cuda.Several {
	t.Helper()
	o := double.Options{NoPeers: sums != cuda.PeerSums, NCCL: sums == cuda.NCCLSums}
	return together(t, double.ComputingMachine(o, n), cuda.Options{GPUSums: sums})
}

// Every way to add sums adds each element in float64 in the order of the devices. The gradient of
// sum(X w) for a matrix with one row for each device is the sum of the rows; each column's sum
// depends on the order: (1e16 + 1) - 1e16 = 0, and (1e16 - 1e16) + 1 = 1.
func TestOrderOfSums(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		for _, cols := range []int{1, 5, 130, 700} { // fewer than, and more than, a slice for each device
			x, want := make([]float64, n*cols), make([]float64, cols)
			rng := rand.New(rand.NewPCG(uint64(n), uint64(cols)))
			for j := range cols {
				for k := range n {
					term := []float64{1e16, float64(j + 1), -1e16}[(k+j)%3] + float64(2*rng.IntN(100))
					x[k*cols+j] = term
					want[j] += term
				}
			}
			for _, sums := range waysToAdd {
				p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
					must := gorgonia.Must
					data := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(n, cols),
						gorgonia.WithValue(tensor.New(tensor.WithShape(n, cols), tensor.WithBacking(slices.Clone(x)))))
					w := graphcases.Normal(g, tensor.Float64, rng, "w", cols, 1)
					return graph.Definition{Objective: must(gorgonia.Sum(must(gorgonia.Mul(data, w)))), Parameters: gorgonia.Nodes{w},
						Inputs: gorgonia.Nodes{data}}, nil
				}, graph.On(adding(t, sums, n)))
				if err != nil {
					t.Fatal(err)
				}
				d, got := p.Space().New(), make([]float64, cols)
				for range 4 { // the places of the terms are used again
					if _, err := p.Forward(nil); err != nil {
						t.Fatal(err)
					}
					if err := p.Backward([]float64{1}, d); err != nil {
						t.Fatal(err)
					}
					p.Space().Read(got, d)
					if err := p.Space().Err(); err != nil {
						t.Fatal(err)
					}
					for j := range got {
						if got[j] != want[j] {
							t.Fatalf("%s, %d devices, %d columns: element %d is %v, want %v", sums, n, cols, j, got[j], want[j])
						}
					}
				}
			}
		}
	}
}

// All ways to add sums give the same bits, in float32 and float64.
func TestWaysToAddAgree(t *testing.T) {
	compared := 0
	for dtype, n := range map[tensor.Dtype]int{tensor.Float32: 2, tensor.Float64: 3} {
		var devices []*cuda.Several
		for _, sums := range waysToAdd {
			devices = append(devices, adding(t, sums, n))
		}
		for i, c := range graphcases.All() {
			if c.Rows < 3 || c.Rows > 320 || i%8 != 1 {
				continue
			}
			want := values(t, c, dtype, graph.On(devices[0]))
			for k, sums := range waysToAdd[1:] {
				if got := values(t, c, dtype, graph.On(devices[k+1])); !slices.Equal(got, want) {
					t.Errorf("%s, %v, %d devices: %s gives other bits than %s", c.Name, dtype, n, sums, waysToAdd[0])
				}
				compared++
			}
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
