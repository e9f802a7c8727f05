package cuda

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/problem"
)

func opened(t *testing.T) (*Device, *double.Driver) {
	t.Helper()
	r := double.New(double.Options{})
	d := require.Value(On(r, Options{}))(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil || r.Violations() != nil {
			t.Errorf("error %v, violations %v", err, r.Violations())
		}
	})
	return d, r
}

// A large upload alternates between the two pinned buffers. The upload refills a buffer only after
// the buffer's copy is done.
func TestUploadsInPieces(t *testing.T) {
	d, r := opened(t)
	const rowBytes, rows = 3000, 4000 // 12 MB: 1398 rows fit in a buffer
	at, err := d.memory.allocate("rows", rowBytes*rows)
	require.NoError(t, err)
	var pieces []int
	err = d.staging.upload(at, rows, rowBytes, func(dst []byte, from, to int) {
		if len(dst) != (to-from)*rowBytes {
			t.Errorf("%d bytes for rows %d to %d", len(dst), from, to)
		}
		for i := range dst {
			dst[i] = byte(from)
		}
		pieces = append(pieces, from, to)
	})
	if want := []int{0, 1398, 1398, 2796, 2796, 4000}; err != nil || !slices.Equal(pieces, want) {
		t.Errorf("pieces %v, error %v, want %v", pieces, err, want)
	}
	var streams []driver.Stream
	for _, c := range r.Calls() {
		if c.Kind == "Upload" {
			streams = append(streams, c.Stream)
		}
	}
	if len(streams) != 3 || streams[0] == streams[1] || streams[0] != streams[2] {
		t.Errorf("the pieces went through streams %v", streams)
	}
	if err := d.staging.upload(at, 1, stageBytes+1, nil); err == nil {
		t.Error("a row larger than a buffer was uploaded")
	}
	count := 0
	if err := d.staging.download(at, rows, rowBytes, func(src []byte, from, to int) { count += to - from }); err != nil || count != rows {
		t.Errorf("%d rows were downloaded, error %v", count, err)
	}
}

// The scratch memory that kernels share grows. The outgrown memory stays allocated for the graphs
// that hold its address.
func TestRoomGrows(t *testing.T) {
	d, r := opened(t)
	first := require.Value(d.queue.Scratch(100))(t)
	if again, err := d.queue.Scratch(firstArena); again != first || err != nil {
		t.Errorf("room at %#x, error %v, want %#x", again, err, first)
	}
	if larger, err := d.queue.Scratch(firstArena + 1); larger == first || err != nil {
		t.Errorf("room at %#x, error %v", larger, err)
	}
	if r.Count("Free") > 0 {
		t.Error("the smaller room was freed")
	}
	if _, err := d.queue.Counters(7); err != nil || r.Count("Clear") != 1 {
		t.Errorf("counters: error %v, cleared %d times", err, r.Count("Clear"))
	}
}

// Open refuses wrong or unsupported options, names the option, and closes the driver.
func TestOpenRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		major int
		o     Options
	}{
		"unknown products int8x1": {9, Options{Products: "int8x1"}},
		"-1 rows":                 {9, Options{MicroBatch: -1}},
		"int8x2 products need compute capability 8.0; old has 7.0": {7, Options{Products: Int8x2}},
	} {
		r := double.New(double.Options{Info: driver.Info{Name: "old", Major: c.major}})
		_, err := On(r, c.o)
		if err == nil || !strings.Contains(err.Error(), want) || r.Count("Close") != 1 || r.Violations() != nil {
			t.Errorf("%+v: error %v, violations %v", c, err, r.Violations())
		}
		var lacking *plan.ProductsError
		if errors.As(err, &lacking) != (c.major < 8) {
			t.Errorf("%+v: error %#v", c, err)
		}
	}
}

// New vectors are zero and reuse released memory.
func TestVectors(t *testing.T) {
	d, _ := opened(t)
	v := require.Value(d.NewVectors(tensor.Float32, &matrix.Dense{Rows: 10, Cols: 1, Data: make([]float64, 10)}, []int{4, 10}))(t)
	x := v.New()
	dot := v.Dot(x, x)
	v.Combine(x, 1, x, 0, 0)
	groups := problem.Map{Kind: problem.GroupMap, Threshold: 1, Ends: []int{4, 10}}
	v.Apply(problem.Step{Kind: problem.DescentStep, X: x, Direction: problem.Iterate, Size: 0.1, Map: groups})
	v.Apply(problem.Step{Kind: problem.ProximalStep, X: x, Map: groups})
	if dot != 0 || v.Err() != nil || v.Len() != 10 || v.Roundoff() != 0x1p-24 {
		t.Errorf("x.x = %v, error %v, %d numbers, roundoff %v", dot, v.Err(), v.Len(), v.Roundoff())
	}
}
