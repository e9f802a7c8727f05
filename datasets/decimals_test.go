package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/textvalue"
)

func TestLocalNumber(t *testing.T) {
	no := math.NaN()
	for _, tc := range []struct {
		text         string
		comma, point float64
	}{
		{"1", 1, 1}, {"-1,5", -1.5, no}, {"1.5", no, 1.5}, {"1,234", 1.234, 1234}, {"1.234", 1234, 1.234}, {"0,125", 0.125, no},
		{"1.234,5", 1234.5, no}, {"1,234.5", no, 1234.5}, {"1.234.567", 1234567, no}, {"1,234,567", no, 1234567},
		{"1 234,5", 1234.5, no}, {"1\u00a0234", 1234, 1234}, {"1'234.5", no, 1234.5}, {"12 34", no, no}, {"1,2e3", 1200, no},
		{"1.5e3", no, 1500}, {"", no, no}, {",", no, no}, {"-", no, no}, {"1,2,3", no, no}, {"1..234", no, no}, {"a,5", no, no}, {"+2,5", 2.5, no},
		{"012,345", 12.345, no}, {",5", 0.5, no}, {"5,", 5, no}, {"1,234 567", no, no},
	} {
		for decimal, want := range map[string]float64{textvalue.CommaDecimals: tc.comma, textvalue.PointDecimals: tc.point} {
			got, ok := textvalue.LocalNumber([]byte(tc.text), decimal)
			if ok == math.IsNaN(want) || ok && got != want {
				t.Errorf("%q with %q: %v %v, want %v", tc.text, decimal, got, ok, want)
			}
		}
	}
}

// TestDecimalCommas reads a European table: its numbers must be the same as in an American one.
func TestDecimalCommas(t *testing.T) {
	american := datatest.RowsText("bill;mass;share;y", 50, func(i int) string {
		return fmt.Sprintf("%.1f;%d.25;0.%03d;%d", 30+float64(i)/3, 1000+37*i, 13*i, i*i/7%2)
	})
	european := datatest.RowsText("bill;mass;share;y", 50, func(i int) string {
		bill := strings.Replace(fmt.Sprintf("%.1f", 30+float64(i)/3), ".", ",", 1)
		return fmt.Sprintf("%s;%d.%03d,25;0,%03d;%d", bill, (1000+37*i)/1000, (1000+37*i)%1000, 13*i, i*i/7%2)
	})
	want, err := everything(t, american, tabular.TableOptions{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := everything(t, european, tabular.TableOptions{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
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
