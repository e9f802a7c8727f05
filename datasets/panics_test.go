package datasets

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/newrows"
	"ppal/internal/recordio"
	"ppal/internal/relay"
	"ppal/internal/require"
)

// thrown returns the panic of f.
func thrown(f func()) (p *relay.Panic) {
	defer func() { p, _ = recover().(*relay.Panic) }()
	f()
	return nil
}

// panickingStore panics for every row.
type panickingStore struct{}

func (panickingStore) SetRows(int, [][]uint8) { panic("a bug in the store") }

// A panic in a goroutine that stores pictures or prepares new rows arrives at the caller, also if
// every block causes a panic.
func TestWorkersPanic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	train, _, err := OpenImages(writeFashion(t, 3000), "fashion-mnist", 7)
	require.NoError(t, err)
	places := make([]int, len(train.Labels))
	for i := range places {
		places[i] = i
	}
	if p := thrown(func() { _, _ = train.Read(places, 0, panickingStore{}) }); p == nil || p.Value != "a bug in the store" {
		t.Errorf("pictures: %+v", p)
	}
	text := "x,y,c,d\n" + strings.Repeat("3,5,a,p\n", 100_000)
	for name, in := range map[string]io.Reader{
		"work": strings.NewReader(text), "read": io.MultiReader(strings.NewReader(text[:len(text)/2]), panickingReader{}),
	} {
		set := newrows.NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}, Emit: func(*newrows.Block) error { return nil }}
		set.Work = func(_, results []float64) ([]float64, error) {
			if name == "work" {
				panic("a bug in the rows")
			}
			return results, nil
		}
		if p := thrown(func() { err = set.Read(in, "file") }); p == nil || p.Value != "a bug in the rows" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	// A constructor's panic does not block the chunks.
	chunks := 3
	next := func([]byte) (recordio.Chunk, error) {
		if chunks--; chunks < 0 {
			return recordio.Chunk{}, io.EOF
		}
		return recordio.Chunk{Text: []byte("x")}, nil
	}
	newWorker := func() func(recordio.Chunk, *int) error { panic("no worker") }
	emit := func(*int) error { t.Error("an incomplete result"); return nil }
	if p := thrown(func() { _ = recordio.InOrder(next, newWorker, emit) }); p == nil || p.Value != "no worker" {
		t.Errorf("constructor: %+v", p)
	}
	if p := thrown(func() { recordio.InParallel(5, func(int) { panic("in parallel") }) }); p == nil || p.Value != "in parallel" {
		t.Errorf("in parallel: %+v", p)
	}
}

// panickingReader panics at every read.
type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("a bug in the rows") }
