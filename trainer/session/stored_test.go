package session

import (
	"runtime"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/session/internal/load"
)

// selection returns 40 rows of each of three classes. Every byte value occurs.
func selection() *picture.Selection {
	s := &picture.Selection{Classes: []int{2, 0, 3}, Names: []string{"two", "zero", "three"}, Offsets: []int{0, 40, 80, 120}}
	s.Pixels = &matrix.Bytes{Rows: 120, Cols: 37, Data: make([]byte, 120*37), Scale: picture.PixelScale}
	for i := range s.Pixels.Data {
		s.Pixels.Data[i] = byte(i + i*i>>7)
	}
	return s
}

// onSelection builds the run small on the rows of selection.
func onSelection(t *testing.T, change func(c *setup)) *assembly {
	t.Helper()
	return assembled(t, small(func(c *setup) {
		c.source = ImagesAtHand{Train: selection(), Test: selection()}
		change(c)
	}))
}

// The training rows that are read from the device's layouts equal the bytes, bit by bit, in both
// precisions.
func TestStoredRows(t *testing.T) {
	needDigits(t)
	for _, c := range []struct {
		dtype    tensor.Dtype
		products Products
		hidden   int // a wide layer reads packed floats, a narrow layer plain floats
	}{{tensor.Float32, Int8x3, 6}, {tensor.Float32, Float32, 6}, {tensor.Float32, Float32, 24}, {tensor.Float64, "", 6}, {tensor.Float64, "", 24}} {
		for _, kind := range kinds {
			e := onSelection(t, func(s *setup) {
				s.Dtype, s.Products, s.Hidden = c.dtype, c.products, []int{c.hidden}
				s.source = ImagesAtHand{Train: selection(), Test: selection(), Normalize: kind}
			})
			data := e.splits[0].Data
			if _, ok := data.(*kernel.PackedBytes); ok != (c.products == Int8x3) {
				t.Fatalf("%+v: the training rows are a %T", c, data)
			}
			if _, ok := data.(*matrix.Bytes); ok {
				t.Fatalf("%+v: the bytes are kept beside the device's rows", c)
			}
			want := load.ImageRows(load.Selected(selection()), e.data.Normalization).Data
			for _, rows := range [][2]int{{0, 120}, {11, 25}, {119, 120}, {7, 7}} {
				n := (rows[1] - rows[0]) * 37
				single, double := make([]float32, n), make([]float64, n)
				wantSingle, wantDouble := make([]float32, n), make([]float64, n)
				data.Float32(single, rows[0], rows[1])
				data.Float64(double, rows[0], rows[1])
				want.Float32(wantSingle, rows[0], rows[1])
				want.Float64(wantDouble, rows[0], rows[1])
				if !cmp.Equal(single, wantSingle) || !cmp.Equal(double, wantDouble) {
					t.Errorf("%+v, %s: rows %v differ", c, kind, rows)
				}
			}
		}
	}
}

// A run that reads its rows from the device ends with the same result as a run that keeps the
// bytes, including batches and the certificate.
func TestStoredRowsEndAlike(t *testing.T) {
	needDigits(t)
	for _, c := range []struct {
		products Products
		batch    int
	}{{Int8x3, 0}, {Int8x3, 30}, {Float32, 0}, {Float32, 30}} {
		finish := func(keep bool) *Result {
			e := onSelection(t, func(s *setup) { s.Dtype, s.Products, s.BatchSize = tensor.Float32, c.products, c.batch })
			if keep {
				e.splits[0].Data = load.ImageRows(load.Selected(selection()), e.data.Normalization).Data
				require.NoError(t, e.buildSampler(e.splits[0].Rows, e.options.Settings.Seed, e.weights(t)))
			}
			r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 4}))(t)
			final := require.Value(e.Certify(r))(t)
			final.Training, final.Certifying = nil, 0 // measured times
			return final
		}
		if diff := cmp.Diff(finish(true), finish(false)); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// The session frees the bytes when the device has stored them. Gorgonia's machine stores only
// floats, therefore its runs keep the bytes.
func TestBytesAreFreed(t *testing.T) {
	needDigits(t)
	for _, c := range []struct {
		engine   Engine
		products Products
		batch    int
		kept     bool
	}{{Plan, Int8x3, 0, false}, {Plan, Int8x3, 30, false}, {Plan, Float32, 0, false}, {Plan, Float32, 30, false}, {Gorgonia, "", 0, true}} {
		train := selection()
		data := weak.Make(&train.Pixels.Data[0])
		e := assembled(t, small(func(s *setup) {
			s.Dtype, s.Engine, s.Products, s.BatchSize = tensor.Float32, c.engine, c.products, c.batch
			s.source = ImagesAtHand{Train: train, Test: selection()}
		}))
		train = nil
		runtime.GC()
		if kept := data.Value() != nil; kept != c.kept {
			t.Errorf("%+v: the bytes are kept: %t", c, kept)
		}
		runtime.KeepAlive(e)
	}
}
