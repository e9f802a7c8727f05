package models

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// The scores of the nodes on Gorgonia's machine equal those of the host's loops: odd pictures of
// two channels, and every activation, pooling and normalization.
func TestPictureScores(t *testing.T) {
	p := Picture{2, 7, 5}
	for _, a := range []Architecture{
		Conv{Picture: p, Channels: []int{3, 4}, Hidden: []int{6}},
		Conv{Picture: p, Channels: []int{3, 4}, Activation: Tanh, Pool: AveragePool, Norm: GroupNorm},
		Conv{Picture: p, Channels: []int{3, 4}, Activation: Sigmoid, Pool: NoPool},
		Conv{Picture: p, Channels: []int{4}, Activation: LeakyReLU, Pool: NoPool, Stride: 3, Norm: GroupNorm},
		ResNet{Picture: p, Channels: []int{3, 4}, Hidden: []int{6}},
		ResNet{Picture: p, Channels: []int{4}, Blocks: 2, Activation: Softplus},
	} {
		sized := require.Value(Sized(a, 70, 3))(t)
		weights := require.Value(Init(sized, generator(1)))(t)
		for _, w := range weights { // biases and gains other than 0 and 1
			for i := range w.Data {
				w.Data[i] += 0.1 * float64(i%3)
			}
		}
		const n = 3
		rows := normals(generator(2), n*70, 1)
		want := require.Value(Predict(sized, weights, rows))(t)
		g := gorgonia.NewGraph()
		net := require.Value(New(g, sized, tensor.Float64, weights))(t)
		x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(n, 70),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n, 70), tensor.WithBacking(rows))))
		scores := require.Value(net.Scores(x, nil))(t)
		require.NoError(t, gorgonia.NewTapeMachine(g).RunAll())
		for i, got := range scores.Value().Data().([]float64) {
			if math.Abs(got-want[i]) > 1e-13 {
				t.Errorf("%v: score %d is %v, want %v", a, i, got, want[i])
			}
		}
	}
}

// MaxPool2D and its derivative are those of gorgonia.MaxPool2D to the bit, with equal elements and
// NaN, windows that overlap, and padding. Windows that do not fit are refused.
func TestMaxPool2D(t *testing.T) {
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, w := range [][3][]int{{{2, 2}, {0, 0}, {2, 2}}, {{3, 2}, {1, 0}, {1, 2}}, {{2, 3}, {0, 1}, {3, 1}}} {
			pooled := func(pool func(*gorgonia.Node, tensor.Shape, []int, []int) (*gorgonia.Node, error)) (value, derivative any) {
				rng, g := generator(4), gorgonia.NewGraph()
				input := func(name string, shape ...int) *gorgonia.Node {
					d := tensor.New(tensor.Of(dtype), tensor.WithShape(shape...))
					for i := range d.Len() {
						if x := float64(rng.IntN(4) - 1); dtype == tensor.Float32 {
							d.Float32s()[i] = float32(x)
						} else {
							d.Float64s()[i] = x
						}
					}
					return gorgonia.NewTensor(g, dtype, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...), gorgonia.WithValue(d))
				}
				x := input("x", 3, 2, 7, 5)
				if dtype == tensor.Float64 {
					x.Value().Data().([]float64)[8] = math.NaN()
				}
				y := require.Value(pool(x, w[0], w[1], w[2]))(t)
				d := require.Value(gorgonia.Backpropagate(gorgonia.Nodes{y}, gorgonia.Nodes{input("d", y.Shape()...)}, gorgonia.Nodes{x}))(t)
				require.NoError(t, gorgonia.NewTapeMachine(g).RunAll())
				return y.Value().Data(), d[0].Value().Data()
			}
			got, gradient := pooled(MaxPool2D)
			want, wantGradient := pooled(gorgonia.MaxPool2D)
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gradient, wantGradient) {
				t.Errorf("%v, windows %v: %v and %v, want %v and %v", dtype, w, got, gradient, want, wantGradient)
			}
		}
	}
	x := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 4, gorgonia.WithShape(1, 1, 4, 4))
	for _, w := range [][3][]int{{{5, 1}, {0, 0}, {1, 1}}, {{0, 1}, {0, 0}, {1, 1}}, {{1, 1}, {0, -1}, {1, 1}}, {{1, 1}, {0, 0}, {1, 0}}, {{1}, {0, 0}, {1, 1}}} {
		if _, err := MaxPool2D(x, w[0], w[1], w[2]); !errors.Is(err, ErrSpec) {
			t.Errorf("windows %v: %v, want ErrSpec", w, err)
		}
	}
}

// Filters begin with He's variance 2/fan_in, biases of blocks with 0.
func TestConvParameters(t *testing.T) {
	a := Conv{Channels: []int{64}}.On(Picture{3, 8, 8})
	a = require.Value(Sized(a, 192, 2))(t)
	w := require.Value(Init(a, generator(3)))(t)
	sum := 0.0
	for _, x := range w[0].Data {
		sum += x * x / float64(len(w[0].Data))
	}
	if want := 2.0 / 27; math.Abs(sum-want) > 0.1*want || w[1].Data[5] != 0 {
		t.Errorf("the variance of the filters is %v, want %v; a bias is %v", sum, want, w[1].Data[5])
	}
	if !HasScoreBias(a) || IsLinear(a) || firstLayers(a) != nil || FirstUnits(a) != 0 {
		t.Error("the parameters have other roles")
	}
}

func TestConvRefuses(t *testing.T) {
	p := Picture{1, 8, 8}
	for says, c := range map[string]Architecture{
		"a residual network needs channels":                                       ResNet{Picture: p},
		"a residual network has -1 blocks":                                        ResNet{Picture: p, Channels: []int{1}, Blocks: -1},
		"steps of 2 pixels and pooling max, expected":                             Conv{Picture: p, Channels: []int{1}, Stride: 2},
		"steps of -1 pixels and pooling none, expected":                           Conv{Picture: p, Channels: []int{1}, Stride: -1, Pool: NoPool},
		`unknown normalization "batch"`:                                           Conv{Picture: p, Channels: []int{1}, Norm: "batch"},
		"64 features without the shape of a picture":                              Conv{Channels: []int{2}},
		"the rows have 64 features":                                               Conv{Channels: []int{2}, Picture: Picture{1, 8, 9}},
		"needs channels, such as 16,32":                                           Conv{Picture: p},
		"0 channels in block 2":                                                   Conv{Picture: p, Channels: []int{2, 0}},
		"block 1 has no pixels left, use the pooling none":                        Conv{Picture: Picture{64, 1, 1}, Channels: []int{2}},
		"too deep for pictures of 8x8: block 4 has no pixels left, use at most 3": Conv{Picture: p, Channels: []int{1, 1, 1, 1}},
		`unknown pooling "sum"`:                                                   Conv{Picture: p, Channels: []int{1}, Pool: "sum"},
		`unknown activation "gelu"`:                                               Conv{Picture: p, Channels: []int{1}, Activation: "gelu"},
		"-1 units in hidden layer 0":                                              Conv{Picture: p, Channels: []int{1}, Hidden: []int{-1}},
		"conv.1.weight has shape [32767 32767 3 3]":                               Conv{Picture: p, Channels: []int{32767, 32767}},
	} {
		if _, err := Sized(c, 64, 2); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
