package recordio_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// A pipe's content goes to a file without a name if it is larger than the limit.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for size, inFile := range map[int]bool{0: false, 9: false, 10: false, 11: true, 50: true} {
		want := strings.Repeat("ab\n", 20)[:size]
		kept := require.Value(recordio.NewSpool(strings.NewReader(want), 10))(t)
		got, err := io.ReadAll(kept.Reader())
		if err != nil || string(got) != want || (kept.File != nil) != inFile {
			t.Errorf("%d bytes: %q in a file: %t, %v", size, got, kept.File != nil, err)
		}
		if kept.File != nil {
			kept.File.Close()
		}
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
			t.Errorf("%d bytes: left %v, %v", size, left, err)
		}
	}
}

// An error after the part that stays in memory is an error.
func TestSpoolError(t *testing.T) {
	fire := errors.New("disk on fire")
	for _, text := range []string{"abc", strings.Repeat("ab\n", 20)} {
		if _, err := recordio.NewSpool(io.MultiReader(strings.NewReader(text), iotest.ErrReader(fire)), 10); err != fire {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

// A pipe without line ends, such as /dev/zero, is refused once its content does not fit in memory.
// An endless pipe with lines is read until the context is cancelled. Neither leaves a file.
func TestSpoolEndless(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := recordio.NewSpool(datatest.Again("0"), 1<<16); !errors.Is(err, dataerr.ErrFormat) || !strings.Contains(err.Error(), "no line ends in the first 65536 bytes") {
		t.Errorf("without lines: %v", err)
	}
	if _, err := recordio.NewSpool(strings.NewReader("\n"+strings.Repeat("0", 20)), 10); err != nil {
		t.Errorf("an empty first line: %v", err)
	}
	interrupt := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	of := recordio.Spools{Of: map[string]*recordio.Spool{}}
	at := 0
	_, err := of.Open(ctx, "endless", func() (io.ReadCloser, error) {
		return io.NopCloser(readerFunc(func(p []byte) (int, error) {
			if at++; at == 1000 {
				cancel(interrupt)
			}
			return copy(p, "0\n"), nil
		})), nil
	})
	if !errors.Is(err, interrupt) || len(of.Of) > 0 {
		t.Errorf("with lines: %v, kept %v", err, of.Of)
	}
	_, err = of.Open(t.Context(), "broken", func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(io.ErrClosedPipe)), nil })
	datatest.CheckError(t, err, io.ErrClosedPipe, "broken: ")
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// readerFunc is a reader that calls the function.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Standard input is read once and kept; reading ends with the context.
func TestStandardInput(t *testing.T) {
	stdin := os.Stdin
	defer func() { os.Stdin = stdin; delete(recordio.Pipes.Of, recordio.StandardInput) }()
	var err error
	if os.Stdin, err = os.Open(datatest.Write(t, t.TempDir(), "in", []byte("a,b\n"))); err != nil {
		t.Fatal(err)
	}
	defer os.Stdin.Close()
	ctx, cancel := context.WithCancel(context.Background())
	for range 2 {
		in := require.Value(recordio.OpenUntilDone(ctx, recordio.StandardInput))(t)
		part := make([]byte, 2)
		if _, err := in.ReadAt(part, 1); err != nil || string(part) != ",b" {
			t.Errorf("%q, %v", part, err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != "a,b\n" {
			t.Errorf("%q, %v", got, err)
		}
		defer func() {
			if _, err := in.ReadAt(part, 0); err != context.Canceled {
				t.Error(err)
			}
			if _, err := in.Read(part); err != context.Canceled {
				t.Error(err)
			}
		}()
	}
	cancel()
	in, err := recordio.OpenUntilDone(t.Context(), recordio.StandardInput)
	require.NoError(t, err)
	if got, err := io.ReadAll(in); err != nil || cmp.Diff("a,b\n", string(got)) != "" {
		t.Errorf("%q, %v", got, err)
	}
}
