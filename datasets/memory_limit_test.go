package datasets

import (
	"errors"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/mapped"
	"ppal/internal/require"
)

// A reader stops soon after its rows need more memory than there is. Rows in pages need none.
func TestRoom(t *testing.T) {
	require.NoRace(t, "the tests of smaller files run the same goroutines")
	const rows = 300_000
	numbers, letters := make([]float64, rows), strings.Repeat("ab", rows/2)
	for name, tc := range map[string]struct {
		set, text string
		bytes     uint64 // of all rows
	}{
		"CSV":     {"csv", "x,y\n" + strings.Repeat("1,a\n2,b\n", rows/2), rows * 12},
		"Parquet": {"csv", string(datatest.ParquetFile(t, numbers, letters)), rows * 12},
		"LIBSVM":  {"libsvm", strings.Repeat("+1 1:1\n-1 2:1\n", rows/2), rows * 20},
		"values":  {"libsvm", strings.Repeat("+1 1:2 2:3\n-1 2:5\n", rows/2), rows * 34},
	} {
		path := datatest.Write(t, t.TempDir(), "rows", []byte(tc.text))
		full := errors.New("full")
		label := "y=a"
		if tc.set == "libsvm" {
			label = ""
		}
		load := func(most uint64, pages *mapped.Dir) (largest uint64, err error) {
			_, err = LoadTable("", tc.set, tabular.TableOptions{File: path, Label: label, Split: tabular.Split{Train: 100}, Pages: pages, Room: func(bytes uint64) error {
				if largest = max(largest, bytes); bytes > most {
					return full
				}
				return nil
			}})
			return largest, err
		}
		all, err := load(1<<62, nil)
		if want := columnar.RowCopies * tc.bytes; err != nil || all > want+want/20 || all < want*3/4 {
			t.Errorf("%s: %d bytes, want about %d; %v", name, all, want, err)
		}
		if got, err := load(all/4, nil); !errors.Is(err, full) || got > all*3/4 {
			t.Errorf("%s: %d of %d bytes before the error %v", name, got, all, err)
		}
		pages, err := mapped.New(t.TempDir(), 1<<30)
		if errors.Is(err, mapped.ErrUnsupported) {
			continue
		}
		require.NoError(t, err)
		defer pages.Close()
		if asked, err := load(0, pages); err != nil || asked > 0 {
			t.Errorf("%s in pages: %d bytes, %v", name, asked, err)
		}
	}
}
