package session

import (
	"runtime"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/internal/config"
	"ppal/models"
	"ppal/trainer"
)

// selection has 40 rows of each of three classes, every byte among them.
func selection() *datasets.Selection {
	s := &datasets.Selection{Classes: []int{2, 0, 3}, Names: []string{"two", "zero", "three"}, Offsets: []int{0, 40, 80, 120}}
	s.Pixels = &matrix.Bytes{Rows: 120, Cols: 37, Data: make([]byte, 120*37), Scale: datasets.PixelScale}
	for i := range s.Pixels.Data {
		s.Pixels.Data[i] = byte(i + i*i>>7)
	}
	return s
}

// onSelection is small's problem on it.
func onSelection(t *testing.T, change func(c *config.Train)) *Experiment {
	t.Helper()
	e, err := NewOnImages(t.Context(), small(change), selection(), selection())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Rows that are read from the form that the device has of them, packed or not, are those of the bytes, bit by bit.
func TestRecoveredRows(t *testing.T) {
	for _, c := range []struct {
		dtype  string
		hidden int
	}{{"float32", 6}, {"float32", 24}, {"float64", 6}, {"float64", 24}} {
		for _, kind := range []string{"none", "center", "standardize"} {
			e := onSelection(t, func(s *config.Train) { s.Dtype, s.Normalize, s.Hidden = c.dtype, models.NormalizationKind(kind), []int{c.hidden} })
			if _, ok := e.splits[0].data.(*recovered); !ok {
				t.Fatalf("%+v: the training rows are a %T", c, e.splits[0].data)
			}
			want := imageRows(atHand(selection()), e.normalization).data
			for _, rows := range [][2]int{{0, 120}, {11, 25}, {119, 120}, {7, 7}} {
				n := (rows[1] - rows[0]) * 37
				single, double := make([]float32, n), make([]float64, n)
				wantSingle, wantDouble := make([]float32, n), make([]float64, n)
				e.splits[0].data.Float32(single, rows[0], rows[1])
				e.splits[0].data.Float64(double, rows[0], rows[1])
				want.Float32(wantSingle, rows[0], rows[1])
				want.Float64(wantDouble, rows[0], rows[1])
				if !cmp.Equal(single, wantSingle) || !cmp.Equal(double, wantDouble) {
					t.Errorf("%+v, %s: rows %v differ", c, kind, rows)
				}
			}
		}
	}
}

// A run with what it needs of the packed rows ends as one that keeps the bytes: batches and certificate alike.
func TestRecoveredRowsEndAlike(t *testing.T) {
	for _, batch := range []int{0, 30} {
		finish := func(keep bool) Final {
			e := onSelection(t, func(c *config.Train) { c.Dtype, c.BatchSize = "float32", batch })
			if keep {
				e.splits[0].data = imageRows(atHand(selection()), e.normalization).data
				if b, ok := e.sampler.(smoothBatches); ok {
					b.rows.data = e.splits[0].data
				}
			}
			r, err := e.Train(t.Context(), trainer.Settings{Iterations: 4})
			if err != nil {
				t.Fatal(err)
			}
			final, err := e.Finish(r)
			if err != nil {
				t.Fatal(err)
			}
			return final
		}
		if diff := cmp.Diff(finish(true), finish(false)); diff != "" {
			t.Errorf("batches of %d: %s", batch, diff)
		}
	}
}

// Once they are packed nothing keeps the bytes; the tape machine has no packed form, and its runs do.
func TestBytesAreFreed(t *testing.T) {
	for _, c := range []struct {
		engine string
		batch  int
		kept   bool
	}{{"plan", 0, false}, {"plan", 30, false}, {"gorgonia", 0, true}} {
		train := selection()
		data := weak.Make(&train.Pixels.Data[0])
		e, err := NewOnImages(t.Context(), small(func(s *config.Train) { s.Engine, s.BatchSize = c.engine, c.batch }), train, selection())
		if err != nil {
			t.Fatal(err)
		}
		train = nil
		runtime.GC()
		if kept := data.Value() != nil; kept != c.kept {
			t.Errorf("%s, batches of %d: the bytes are kept: %t", c.engine, c.batch, kept)
		}
		runtime.KeepAlive(e)
	}
}

// Where rounding does not tell all bytes apart, or there is nothing to read, the bytes stay.
func TestBytesThatStay(t *testing.T) {
	b := &matrix.Bytes{Rows: 1, Cols: 1, Data: []byte{1}, Scale: 1e-46} // of which float32 has nothing left
	if got := recoverBytes(b, picked{1, 1}); got != matrix.Matrix(b) {
		t.Errorf("a scale that vanishes: %T", got)
	}
	if got := recoverBytes(b, nil); got != matrix.Matrix(b) {
		t.Errorf("no packed form: %T", got)
	}
	d := &matrix.Dense{Rows: 1, Cols: 1, Data: []float64{0.1}}
	if got := recoverBytes(d, picked{1, 1}); got != matrix.Matrix(d) {
		t.Errorf("measurements: %T", got)
	}
}
