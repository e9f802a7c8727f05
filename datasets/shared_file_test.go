package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/inputfile"
	"ppal/internal/loader"
)

// revised is a file that changes each time it is read from the start. Its seek number failing, from
// 1, fails.
type revised struct {
	texts          []string
	version        int
	at             int64
	seeks, failing int
	read           int // bytes
}

func (f *revised) Text() string { return f.texts[min(f.version, len(f.texts)-1)] }

func (f *revised) Read(p []byte) (int, error) {
	n := copy(p, f.Text()[min(f.at, int64(len(f.Text()))):])
	f.at, f.read = f.at+int64(n), f.read+n
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (f *revised) Seek(offset int64, whence int) (int64, error) {
	if f.seeks++; f.seeks == f.failing {
		return 0, errOther
	}
	switch {
	case whence == io.SeekEnd:
		f.at = int64(len(f.Text()))
	case whence == io.SeekStart:
		if f.at = offset; offset == 0 {
			f.version++
		}
	}
	return f.at, nil
}

// Processes read a file twice together. If one of them finds an error, each reads the file alone,
// and finds the error of one process.
func TestSharedFileReadings(t *testing.T) {
	opts := tabular.TableOptions{File: "file", Label: "y", Missing: tabular.MissingImputed}
	good := datatest.RowsText("x,c,y", 30, func(i int) string { return fmt.Sprintf("%d,%c,%d", i*i, "abc"[i%3], i/2%2) })
	bad := good + "1,a\n"
	for name, c := range map[string]struct {
		texts        []string
		votes, reads int // of process 0
	}{"good": {[]string{good}, 2, 2}, "bad": {[]string{bad}, 1, 2}, "changed": {[]string{good, bad}, 2, 3}, "restored": {[]string{good, bad, good}, 2, 3}} {
		if name != "restored" {
			_, want := loader.ReadUserCSV(t.Context(), &revised{texts: c.texts}, opts)
			if (want == nil) != (name == "good") {
				t.Fatalf("%s, one process: %v", name, want)
			}
			_, errs := shared(t, 2, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
				own, v, f := opts, &voting{Share: s}, &revised{texts: c.texts}
				own.Share = v
				_, err := loader.ReadUserCSV(t.Context(), f, own)
				if rank == 0 && (v.votes != c.votes || f.read < c.reads*len(good) || f.read > c.reads*len(bad)) {
					t.Errorf("%s: %d votes, %d bytes of %d", name, v.votes, f.read, len(good))
				}
				return nil, err
			})
			if fmt.Sprint(errs[0]) != fmt.Sprint(want) || fmt.Sprint(errs[1]) != fmt.Sprint(want) {
				t.Errorf("%s: %q, and in one process %q", name, errs, want)
			}
		}
		for failing := 1; ; failing++ {
			f := &revised{texts: c.texts, failing: failing}
			_, errs := shared(t, 1, 24, func(_ int, s tabular.Share) (*tabular.Tables, error) {
				own := opts
				own.Share = s
				_, err := loader.ReadUserCSV(t.Context(), f, own)
				return nil, err
			})
			if failing > f.seeks {
				break
			}
			if !errors.Is(errs[0], errOther) {
				t.Errorf("%s: seek %d fails: %v", name, failing, errs[0])
			}
		}
	}
	f := &revised{texts: []string{good}, at: 7}
	if size, err := inputfile.SizeOf(f); err != nil || size != int64(len(good)) || f.at != 7 {
		t.Errorf("%d bytes of %d, at %d: %v", size, len(good), f.at, err)
	}
}

// A file that is repaired between two readings is read as if nothing had happened.
func TestSharedFileRepaired(t *testing.T) {
	opts := tabular.TableOptions{File: "file", Label: "y"}
	good := datatest.RowsText("x,c,y", 30, func(i int) string { return fmt.Sprintf("%d,%c,%d", i*i, "abc"[i%3], i/2%2) })
	want, err := loader.ReadUserCSV(t.Context(), strings.NewReader(good), opts)
	if err != nil {
		t.Fatal(err)
	}
	_, errs := shared(t, 2, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
		own := opts
		own.Share = s
		got, err := loader.ReadUserCSV(t.Context(), &revised{texts: []string{good + good + "1,a\n", good}}, own)
		if err == nil && !slices.Equal(got.Notes, want.Notes) {
			t.Errorf("process %d: notes %q, want %q", rank, got.Notes, want.Notes)
		}
		return nil, err
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// The sheet has the values of the columns that determine labels, groups, attributes and splits. The
// values of the other features are read later, for the process's own rows.
func TestSharedColumnsKept(t *testing.T) {
	text := datatest.RowsText("x,c,g,a,v,born,when,part,y", 40, func(i int) string {
		return fmt.Sprintf("%d,%c,%c,%d,%c,2001-02-%02d,2001-03-%02d,%s,%d", i*i, "abc"[i%3], "de"[i%2], i%7, "NM"[i%2], 1+i%9, 1+i%5,
			[]string{"train", "test"}[i/30], i/2%2)
	})
	opts := tabular.TableOptions{File: "file", Label: "y", Groups: []string{"g"}, Attributes: []string{"a", "when"}, Values: []string{"n"}, SplitColumn: "part",
		Dates: tabular.DatesExpanded}
	_, errs := shared(t, 2, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
		own := opts
		own.Share = s
		source, err := loader.ReadUserCSV(t.Context(), strings.NewReader(text), own)
		if err != nil {
			return nil, err
		}
		for _, c := range source.Features.(*loader.Encoded).Sheet.Columns {
			want := slices.Contains([]string{"g", "a", "v", "when", "part", "y"}, c.Name)
			if kept := len(c.Numbers)+len(c.Codes) > 0; kept != want {
				t.Errorf("process %d: the values of %q are kept: %t", rank, c.Name, kept)
			}
		}
		return nil, nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}
