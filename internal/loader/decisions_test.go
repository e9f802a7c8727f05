package loader_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/internal/loader"
	"ppal/internal/require"
)

// FuzzDecisions reads any bytes as a file of decisions.
func FuzzDecisions(f *testing.F) {
	f.Add([]byte("row,score,decision\n1,0.5,yes\n2,-1,no\n"))
	f.Add([]byte("class,row\r\n\"yes\",3\r\n"))
	f.Add([]byte("row,decision\n1,yes\n1,no\n"))
	f.Add([]byte("row,decision\n99999999999999999999,yes\n"))
	kinds := []error{dataerr.ErrColumn, dataerr.ErrFormat, dataerr.ErrIndex, dataerr.ErrLabel}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		decisions, err := loader.ReadDecisions(path, []string{"no", "0"}, []string{"yes", "1"})
		if err != nil {
			var fe *dataerr.FileError
			if !errors.As(err, &fe) || !slices.ContainsFunc(kinds, func(e error) bool { return errors.Is(err, e) }) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
		}
		for row, class := range decisions {
			if row < 0 || class < 0 || class > 1 {
				t.Fatalf("row %d has the class %d", row, class)
			}
		}
	})
}

// Rows count from 1, the column may have the name class, and every error names the line.
func TestReadDecisions(t *testing.T) {
	for text, want := range map[string]struct {
		decisions map[int]int
		err       error
		line      int
	}{
		"row,decision\n1,yes\n3,no\n":              {map[int]int{0: 1, 2: 0}, nil, 0},
		"class,score,row\n1,0.5,2\n":               {map[int]int{1: 1}, nil, 0},
		"class,row,decision\nyes,1,no\n":           {map[int]int{0: 0}, nil, 0},
		"decision,class,row\nyes,0,1\n":            {map[int]int{0: 1}, nil, 0},
		"row,decision\n99999999999999999999,yes\n": {nil, dataerr.ErrIndex, 2},
		"row,decision\n":                           {map[int]int{}, nil, 0},
		"row,decision\n1,yes\n0,no\n":              {nil, dataerr.ErrIndex, 3},
		"row,decision\nx,yes\n":                    {nil, dataerr.ErrIndex, 2},
		"row,decision\n1,yes\n1,yes\n":             {nil, dataerr.ErrIndex, 3},
		"row,decision\n1,maybe\n":                  {nil, dataerr.ErrLabel, 2},
		"row,score\n1,2\n":                         {nil, dataerr.ErrColumn, 1},
		"decision\nyes\n":                          {nil, dataerr.ErrColumn, 1},
		"row,decision\n1,yes,no\n":                 {nil, dataerr.ErrFormat, 0},
		"":                                         {nil, dataerr.ErrFormat, 1},
	} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := loader.ReadDecisions(path, []string{"no", "0"}, []string{"yes", "1"})
		var fe *dataerr.FileError
		if !errors.Is(err, want.err) || errors.As(err, &fe) && fe.Line != want.line || want.err == nil && !maps.Equal(got, want.decisions) {
			t.Errorf("%q: %v, %v, want %v, %v in line %d", text, got, err, want.decisions, want.err, want.line)
		}
	}
}
