package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
)

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
