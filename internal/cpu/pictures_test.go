package cpu_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

func pictureProblem(t testing.TB, c graphcases.Pictures, dtype tensor.Dtype, engine graph.Engine) *graph.Problem {
	t.Helper()
	return require.Value(c.Problem(dtype, engine))(t)
}

// On every level, convolutions and max-pooling have the values and gradients of Gorgonia's machine.
func TestConvolutionsAgreeWithGorgonia(t *testing.T) {
	for _, c := range graphcases.PictureCases() {
		if require.Racing && c.Name == "parts" {
			continue
		}
		want := numbers(t, pictureProblem(t, c, tensor.Float64, graph.Tape{}))
		for _, level := range levels() {
			d, err := cpu.New(level, 2)
			if err != nil {
				continue // this machine does not support the level
			}
			agree(t, fmt.Sprintf("%s, %v, float64", c.Name, level), numbers(t, pictureProblem(t, c, tensor.Float64, graph.On(d))), want, 1e-12)
			agree(t, fmt.Sprintf("%s, %v, float32", c.Name, level), numbers(t, pictureProblem(t, c, tensor.Float32, graph.On(d))), want, 2e-6)
			d.Close()
		}
	}
}

// The bits do not depend on the number of threads.
func TestConvolutionsOnAnyNumberOfThreads(t *testing.T) {
	c := graphcases.DigitPictures(61)
	var want [][]float64
	for threads := 1; threads <= 5; threads++ {
		d := require.Value(cpu.New(kernel.Best(), threads))(t)
		got := numbers(t, pictureProblem(t, c, tensor.Float32, graph.On(d)))
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d threads: %s", threads, diff)
		}
		d.Close()
	}
}

// Pictures of the classes may lie in any order, although blocks of pictures have few rows.
func TestPicturesInAnyOrder(t *testing.T) {
	model := require.Value(models.Sized(models.Conv{Picture: models.Picture{Channels: 1, Height: 28, Width: 28}, Channels: []int{8, 8}}, 784, 4))(t)
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer device.Close()
	data, class := newImages(90, 784), func(i int) int { return i * 7 % 4 }
	got := numbers(t, labelled(t, model, data, class, tensor.Float64, graph.On(device)))
	agree(t, "classes in turns", got, numbers(t, labelled(t, model, data, class, tensor.Float64, graph.Tape{})), 1e-9)
}
