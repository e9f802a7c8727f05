package newrows

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
)

// TestNewRowsLIBSVM reads rows in LIBSVM's format, with and without labels.
func TestNewRowsLIBSVM(t *testing.T) {
	p := &tabular.Preparation{Numbers: []int{2, 5}, Indices: 6}
	text := "# begin\n+1 qid:3 2:0.5 5:2 6:1 # note\n\n2:1\r\n-1 5:4"
	x, _, _, err := newRows(p, strings.NewReader(text), NewRows{})
	if diff := cmp.Diff([]float64{0.5, 2, 1, 0, 0, 4}, x.Data); err != nil || diff != "" {
		t.Error(err, diff)
	}
	_, kept, _, err := newRows(p, strings.NewReader("+1 2:1 6:1\n-1 6:0\n"), NewRows{Keep: []string{"", "6"}})
	if diff := cmp.Diff([][]string{{"+1", "-1"}, {"1", "0"}}, kept); err != nil || diff != "" {
		t.Error(err, diff)
	}
	x, _, unknown, err := newRows(p, strings.NewReader("1 2:1 9:1\n"), NewRows{IgnoreUnknown: true})
	if diff := cmp.Diff([]float64{1, 0}, x.Data); err != nil || diff != "" || unknown != 1 {
		t.Error(err, diff, unknown)
	}
	for text, want := range map[string]error{
		"1 2:1\n1 7:1\n": dataerr.ErrIndex, "1 2:1\n:5 2:1\n": dataerr.ErrIndex, "1 2:1\nx 2:1\n": dataerr.ErrNumber, "1 2:1\n1 2:1 2:1\n": dataerr.ErrIndex, "1 2:1\n1 2\n": dataerr.ErrFormat, "": dataerr.ErrTruncated,
	} {
		x, _, _, err := newRows(p, strings.NewReader(text), NewRows{})
		if !errors.Is(err, want) || text != "" && !strings.Contains(err.Error(), "file: line 2: ") || x.Rows != min(1, len(text)) {
			t.Errorf("%q: %d rows, %v", text, x.Rows, err)
		}
	}
	if _, _, _, err := newRows(p, strings.NewReader("2:1\n"), NewRows{Keep: []string{""}}); !errors.Is(err, dataerr.ErrMissing) {
		t.Errorf("no label: %v", err)
	}
	if _, _, _, err := newRows(p, strings.NewReader("1 2:1\n"), NewRows{Keep: []string{"7"}}); !errors.Is(err, dataerr.ErrColumn) {
		t.Errorf("no such feature: %v", err)
	}
}
