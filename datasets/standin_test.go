package datasets

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
	"ppal/internal/require"
)

var standIns = []string{"synthetic-adult", "synthetic-bank", "synthetic-compas", "synthetic-communities"}

// describe formats a table's sizes.
func describe(w *bytes.Buffer, t *tabular.Tables) {
	for _, p := range t.Parts() {
		rows, cols := p.Features.Dims()
		fmt.Fprintf(w, "  %s: %d rows, %d features, classes %v", p.Name, rows, cols, p.ClassCounts())
		if x, ok := p.Features.(*matrix.CSR); ok {
			fmt.Fprintf(w, ", %d entries", len(x.Columns))
		}
		for _, g := range p.Groups[:min(len(p.Groups), 2)] {
			fmt.Fprintf(w, ", %s %d", g.Name, len(g.Rows))
		}
		if n := len(p.Groups); n > 2 {
			fmt.Fprintf(w, " ... %d groups", n)
		}
		w.WriteByte('\n')
	}
	for _, note := range t.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
}

// TestStandInGolden checks that the rows are the same on every machine: sizes, and checksums of the
// data sets whose features are not quotients.
func TestStandInGolden(t *testing.T) {
	require.NoRace(t, "TestSyntheticTwice loads the same tables")
	var got bytes.Buffer
	for _, name := range standIns {
		for _, seed := range []uint64{1, 2} {
			tables := loaded(t, name, tabular.TableOptions{Seed: seed})
			fmt.Fprintf(&got, "%s, seed %d\n", name, seed)
			describe(&got, tables)
			if name == "synthetic-adult" {
				fmt.Fprintf(&got, "  training sha256 %s\n", tables.Train.SHA256())
			}
		}
	}
	for _, s := range []*columnar.Sheet{drawBank(1), drawCompas(1), drawCommunities(1)} {
		fmt.Fprintf(&got, "%s, seed 1, first rows as drawn\n", s.Name)
		for i := range 2 {
			var texts []string
			for _, c := range s.Columns {
				texts = append(texts, c.Text(i))
			}
			fmt.Fprintf(&got, "  %s\n", strings.Join(texts, " "))
		}
	}
	require.Golden(t, "testdata/standins.golden", got.Bytes())
}

// The rows are in the order of the mixture, with the least and the largest trait.
func TestStandInOrder(t *testing.T) {
	drawn := newStandIn(4, 1)
	drawn.traits[0] = []int32{31, -32, 0, 32}
	if got := drawn.order(mixture{weights: [standInTraits]int{1}}); !slices.Equal(got, []int32{1, 2, 0, 3}) {
		t.Errorf("rows %v", got)
	}
}

// TestStandInFitsItsDesign checks that a generated sheet has the columns of its data set's file,
// with allowed categories and without forbidden missing values.
func TestStandInFitsItsDesign(t *testing.T) {
	for _, tc := range []struct {
		sheet  *columnar.Sheet
		design *loader.Design
	}{{drawBank(3), bankDesign()}, {drawCompas(3), compasDesign()}, {drawCommunities(3), communitiesDesign()}} {
		for _, spec := range tc.design.Specs() {
			c := tc.sheet.Column(spec.Name)
			switch {
			case c == nil:
				t.Fatalf("%s has no %s", tc.sheet.Name, spec.Name)
			case spec.Numeric && len(c.Numbers) != tc.sheet.Rows, !spec.Numeric && len(c.Codes) != tc.sheet.Rows:
				t.Errorf("%s: %s has %d numbers and %d codes", tc.sheet.Name, spec.Name, len(c.Numbers), len(c.Codes))
			case !slices.Equal(c.Values, spec.Categories):
				t.Errorf("%s: %s has categories %q", tc.sheet.Name, spec.Name, c.Values)
			case (c.FirstMissing() >= 0) != spec.Missing:
				t.Errorf("%s: %s misses a value in row %d", tc.sheet.Name, spec.Name, c.FirstMissing())
			}
		}
	}
}

// TestStandInsCanBeLearned checks that a model can learn from a stand-in and generalise: the line
// through the means of the two classes ranks held-out rows far better than chance (area under the
// curve 1/2), and not perfectly.
func TestStandInsCanBeLearned(t *testing.T) {
	require.NoRace(t, "TestSyntheticTwice draws the same tables")
	for _, name := range standIns {
		tables := loaded(t, name, tabular.TableOptions{Seed: 5})
		_, cols := tables.Train.Features.Dims()
		row := make([]float64, cols)
		direction := make([]float64, cols)
		counts := tables.Train.ClassCounts()
		for i, y := range tables.Train.Labels {
			tables.Train.Features.Float64(row, i, i+1)
			for j, x := range row {
				direction[j] += float64(y) * x / float64(counts[tabular.ClassOf(y, 2)])
			}
		}
		var scores [2][]float64
		for i, y := range tables.Test.Labels {
			tables.Test.Features.Float64(row, i, i+1)
			score := 0.0
			for j, x := range row {
				score += direction[j] * x
			}
			scores[tabular.ClassOf(y, 2)] = append(scores[tabular.ClassOf(y, 2)], score)
		}
		below := 0.0
		for _, p := range scores[1] {
			for _, n := range scores[0] {
				if n < p {
					below++
				}
			}
		}
		if auc := below / float64(len(scores[0])*len(scores[1])); auc < 0.7 || auc > 0.97 {
			t.Errorf("%s: area %.3f", name, auc)
		} else {
			t.Logf("%s: area %.3f", name, auc)
		}
	}
}

// TestStandInGroupRates checks that the groups' shares of class +1 are about the published shares:
// 0.109 and 0.304 for Adult's sexes, 0.523 and 0.383 for COMPAS's races.
func TestStandInGroupRates(t *testing.T) {
	for name, want := range map[string][2]float64{"synthetic-adult": {0.109, 0.304}, "synthetic-compas": {0.523, 0.383}} {
		tables := loaded(t, name, tabular.TableOptions{Seed: 6, Split: tabular.Split{Train: 100}})
		for k, g := range tables.Train.Groups {
			positives := 0.0
			for _, i := range g.Rows {
				positives += float64(tabular.ClassOf(tables.Train.Labels[i], 2))
			}
			if rate := positives / float64(len(g.Rows)); math.Abs(rate-want[k]) > 0.03 {
				t.Errorf("%s: %.3f of %s, want about %.3f", name, rate, g.Name, want[k])
			}
		}
	}
}

func BenchmarkStandIns(b *testing.B) {
	for _, name := range standIns {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.Value(LoadTable("", name, tabular.TableOptions{Seed: 1}))(b)
			}
		})
	}
}

// TestSyntheticGolden checks that the bytes are the same on every machine: checksums of the default
// sets, and one complete image.
func TestSyntheticGolden(t *testing.T) {
	require.NoRace(t, "TestSyntheticTwice draws with the same goroutines")
	var got bytes.Buffer
	for _, seed := range []uint64{1, 2} {
		train, test := Synthetic(SyntheticConfig{Seed: seed})
		fmt.Fprintf(&got, "seed %d train %d rows sha256 %s\n", seed, train.Pixels.Rows, train.SHA256())
		fmt.Fprintf(&got, "seed %d test %d rows sha256 %s\n", seed, test.Pixels.Rows, test.SHA256())
		if seed == 1 {
			for row := range slices.Chunk(train.Pixels.Data[2*784:3*784], 28) {
				fmt.Fprintf(&got, "%3d\n", row)
			}
		}
	}
	require.Golden(t, "testdata/synthetic.golden", got.String())
}

func TestSyntheticPrefix(t *testing.T) {
	small, _ := Synthetic(SyntheticConfig{Seed: 3, TrainPerClass: 5, TestPerClass: 1})
	const sum = "df08ba143391c02a5d3528c29f1fed7a0b4be76dee4b170349a90675489f5882"
	if small.SHA256() != sum {
		t.Errorf("the checksum of 5 rows of each class is %s, want %s", small.SHA256(), sum)
	}
	large, _ := Synthetic(SyntheticConfig{Seed: 3, TrainPerClass: 9, TestPerClass: 1})
	if !bytes.HasPrefix(large.Pixels.Data, small.Pixels.Data) || !bytes.HasPrefix(large.Labels, small.Labels) {
		t.Error("more rows change the earlier ones")
	}
	other, _ := Synthetic(SyntheticConfig{Seed: 4, TrainPerClass: 5, TestPerClass: 1})
	if bytes.Equal(small.Pixels.Data, other.Pixels.Data) {
		t.Error("two seeds give the same pictures")
	}
}

func TestSyntheticSplitsDiffer(t *testing.T) {
	train, test := Synthetic(SyntheticConfig{Seed: 1, TrainPerClass: 20, TestPerClass: 20})
	seen := map[string]bool{}
	for _, set := range []*picture.Images{train, test} {
		for row := range slices.Chunk(set.Pixels.Data, set.Pixels.Cols) {
			if seen[string(row)] {
				t.Fatal("a picture occurs twice")
			}
			seen[string(row)] = true
		}
	}
	if diff := cmp.Diff([]int{20, 20, 20, 20, 20, 20}, test.Counts()) + cmp.Diff([]string{"O", "C", "S", "3", "2", "6"}, test.Classes); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkSynthetic(b *testing.B) {
	for b.Loop() {
		Synthetic(SyntheticConfig{Seed: 1})
	}
}

// The same set is drawn once, and a caller may change its copy.
func TestSyntheticTwice(t *testing.T) {
	want, _ := Synthetic(SyntheticConfig{Seed: 3})
	changed, _, err := LoadImages("", "synthetic", 3)
	require.NoError(t, err)
	clear(changed.Pixels.Data)
	clear(changed.Labels)
	clear(changed.Classes)
	again, _, err := LoadImages("", "synthetic", 3)
	require.NoError(t, err)
	other, _, err := LoadImages("", "synthetic", 4)
	require.NoError(t, err)
	if !slices.Equal(want.Pixels.Data, again.Pixels.Data) || !slices.Equal(want.Labels, again.Labels) || !slices.Equal(want.Classes, again.Classes) {
		t.Error("the second load of a set differs from the first")
	}
	if slices.Equal(want.Pixels.Data, other.Pixels.Data) {
		t.Error("two seeds have the same pictures")
	}
}
