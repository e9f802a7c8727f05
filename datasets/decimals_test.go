package datasets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// TestDecimalCommas reads a European table: its numbers must be the same as in an American one.
func TestDecimalCommas(t *testing.T) {
	american := datatest.RowsText("bill;mass;share;y", 50, func(i int) string {
		return fmt.Sprintf("%.1f;%d.25;0.%03d;%d", 30+float64(i)/3, 1000+37*i, 13*i, i*i/7%2)
	})
	european := datatest.RowsText("bill;mass;share;y", 50, func(i int) string {
		bill := strings.Replace(fmt.Sprintf("%.1f", 30+float64(i)/3), ".", ",", 1)
		return fmt.Sprintf("%s;%d.%03d,25;0,%03d;%d", bill, (1000+37*i)/1000, (1000+37*i)%1000, 13*i, i*i/7%2)
	})
	want := require.Value(everything(t, american, tabular.TableOptions{Label: "y"}))(t)
	got := require.Value(everything(t, european, tabular.TableOptions{Label: "y"}))(t)
	if diff := cmp.Diff(denseOf(t, want).Data, denseOf(t, got).Data); diff != "" || len(got.Train.Columns) != 3 {
		t.Error(diff)
	}
	if note := "These columns hold numbers with decimal commas: bill, mass, share."; !slices.Contains(got.Notes, note) {
		t.Errorf("notes %q", got.Notes)
	}
	if again := prepared(t, got.Preparation, european); !slices.Equal(again, denseOf(t, got).Data) {
		t.Error("new rows differ")
	}
}
