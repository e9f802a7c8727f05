package datasets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/mapped"
	"ppal/internal/require"
)

// A table whose columns lie in files is the table in memory.
func TestPagesGiveTheSameTable(t *testing.T) {
	dir := t.TempDir()
	text := func(rows, seed int) []byte {
		var text strings.Builder
		text.WriteString("when,x,c,free,y\n")
		for i := seed; i < seed+rows; i++ {
			x := fmt.Sprint(i * i % 1009)
			if i%11 == 0 {
				x = "NA"
			}
			fmt.Fprintf(&text, "2024-%02d-%02d,%s,%s,%d,%d\n", 1+i%12, 1+i%28, x, []string{"b", "a", "", "c"}[i/4%4], i%5, i/3%2)
		}
		return []byte(text.String())
	}
	pages := require.Value(mapped.New(dir, 1<<40))(t)
	defer pages.Close()
	opts := tabular.TableOptions{File: datatest.Write(t, dir, "own.csv", text(15000, 0)), TestFile: datatest.Write(t, dir, "test.csv", text(3000, 7)), Label: "y", Dates: tabular.DatesExpanded,
		Groups: []string{"c"}, Attributes: []string{"free", "x<500"}, Features: []string{"when", "x", "c"}}
	for _, missing := range []string{tabular.MissingFlagged, tabular.MissingDropped} {
		opts.Missing, opts.Pages = missing, nil
		want := loaded(t, "csv", opts)
		opts.Pages = pages
		got := loaded(t, "csv", opts)
		if _, ok := got.Train.Features.(*loader.EncodedRows); !ok || pages.Bytes() < 15000*(6*8+4) {
			t.Errorf("%s: features %T, %d bytes", missing, got.Train.Features, pages.Bytes())
		}
		list := []int{7, 3, 3, 5000, 0}
		for i := range 3000 {
			list = append(list, i*3001%5000)
		}
		_, cols := got.Train.Features.Dims()
		some, same := make([]float64, len(list)*cols), make([]float64, len(list)*cols)
		matrix.Pick(got.Train.Features, list).Float64(some, 0, len(list))
		for k, i := range list {
			want.Train.Features.Float64(same[k*cols:(k+1)*cols], i, i+1)
		}
		if !slices.Equal(some, same) {
			t.Error("listed rows differ")
		}
		if diff := cmp.Diff(want.Preparation, got.Preparation) + cmp.Diff(want.Uses, got.Uses); diff != "" {
			t.Errorf("%s: %s", missing, diff)
		}
		for k, p := range want.Parts() {
			own := got.Parts()[k]
			rows, cols := p.Features.Dims()
			x, y := make([]float64, rows*cols), make([]float64, rows*cols)
			p.Features.Float64(x, 0, rows)
			own.Features.Float64(y, 0, rows)
			single, wanted := make([]float32, cols), make([]float32, cols)
			own.Features.Float32(single, rows-1, rows)
			own.Features.Float32(nil, rows, rows)
			p.Features.Float32(wanted, rows-1, rows)
			if !slices.Equal(x, y) || !slices.Equal(single, wanted) || own.Table.SHA256() != p.Table.SHA256() {
				t.Errorf("%s, %s: the features differ", missing, p.Name)
			}
			if diff := cmp.Diff(p.Groups, own.Groups, alike) + cmp.Diff(p.Attributes, own.Attributes, alike) + cmp.Diff(p.Labels, own.Labels, alike) + cmp.Diff(p.Source, own.Source, alike); diff != "" {
				t.Errorf("%s, %s: %s", missing, p.Name, diff)
			}
		}
	}
}
