package datasets

import (
	"fmt"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
)

// Categories and labels say nothing about the decimal sign of numbers.
func TestDecimalSignOfCategories(t *testing.T) {
	text := "size;mass;y\n1,5;1,234;0\n2,5;2,345;1\n"
	for name, tc := range map[string]struct {
		opts tabular.TableOptions
		ok   bool
	}{
		"numbers":    {tabular.TableOptions{Label: "y"}, true},
		"categories": {tabular.TableOptions{Label: "y", Categorical: []string{"size"}}, false},
		"a label":    {tabular.TableOptions{Label: "size=1,5"}, false},
	} {
		got, err := everything(t, text, tc.opts)
		if tc.ok {
			if err != nil || got.Preparation.Encodings[1].Center != (1.234+2.345)/2 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		datatest.CheckError(t, err, dataerr.ErrColumn, "which has two readings")
	}
}

// The categories of a column are counted over all chunks: one more than the limit, in a later
// chunk, is too many.
func TestCategoriesOverChunks(t *testing.T) {
	for extra, ok := range map[int]bool{0: true, 1: false} {
		var text strings.Builder
		text.WriteString("c,y\n")
		for i := range 4000 {
			k := i % columnar.MaxCategories
			if i > 3900 {
				k += extra
			}
			fmt.Fprintf(&text, "category %0200d,%d\n", k, i%2)
		}
		got, err := everything(t, text.String(), tabular.TableOptions{Label: "y"})
		if !ok {
			datatest.CheckError(t, err, dataerr.ErrColumn, `"c": it has more than 1000 different texts in 4000 rows`)
		} else if err != nil || len(got.Preparation.Encodings[0].Categories) != columnar.MaxCategories {
			t.Errorf("%d categories: %v", columnar.MaxCategories, err)
		}
	}
}
