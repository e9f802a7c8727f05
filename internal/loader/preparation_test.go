package loader

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/internal/textvalue"
)

// fewRows returns a sheet with one column of each kind, and its preparation.
func fewRows() (*columnar.Sheet, *tabular.Preparation) {
	s := &columnar.Sheet{Name: "file", Rows: 4, Columns: []*columnar.Column{
		{Name: "x", Numbers: []float64{1, 3, 100, 5}},
		{Name: "y", Numbers: []float64{2, math.NaN(), math.NaN(), 4}},
		{Name: "c", Codes: []int32{1, 0, 2, -1}, Values: []string{"a", "b", "other"}},
		{Name: "flat", Numbers: []float64{0.1, 0.1, 7, 0.1}},
	}}
	return s, &tabular.Preparation{Encodings: []tabular.Encoding{
		{Column: "x"},
		{Column: "y", Missing: true},
		{Column: "c", Categories: []string{"a", "b", "other"}, Levels: []string{"b", "a"}, Missing: true},
		{Column: "flat"},
	}}
}

// Over the training rows 0, 1, 3, x has mean 3 and variance (4+0+4)/3. The two values of y there
// have mean 3 and variance 1. The held-out row 2 does not count.
func TestPreparation(t *testing.T) {
	s, p := fewRows()
	constant, err := fitScales(p, s, []int{0, 1, 3}, nil)
	if diff := cmp.Diff([]string{"flat"}, constant); err != nil || diff != "" {
		t.Error(err, diff)
	}
	want := []string{"x", "y", "y missing", "c=b", "c=a", "c missing", "flat"}
	if diff := cmp.Diff(want, p.Columns()); diff != "" {
		t.Error(diff)
	}
	got := require.Value(MakeFeatures(p, s, []int{3, 2, 0}))(t)
	d := math.Sqrt(8.0 / 3)
	if diff := cmp.Diff(&matrix.Dense{Rows: 3, Cols: 7, Data: []float64{
		2 / d, 1, 0, 0, 0, 1, 0,
		97 / d, 0, 1, 0, 0, 0, 7 - 0.1,
		-2 / d, -1, 0, 1, 0, 0, 0,
	}}, got, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
		t.Error(diff)
	}
}

func TestPreparationOutOfRange(t *testing.T) {
	for name, tc := range map[string]struct {
		numbers []float64
		want    error
		says    string
	}{
		"too large":        {[]float64{1e200, -1e200, 0}, dataerr.ErrColumn, `file: invalid column "x": its standard deviation is out of range`},
		"sum overflows":    {[]float64{1.7e308, 1.6e308, 0}, dataerr.ErrColumn, "out of range"},
		"too close":        {[]float64{1e-200, 2e-200, 0}, dataerr.ErrColumn, "out of range"},
		"held out, far":    {[]float64{0, 1e-10, 1e300}, dataerr.ErrNumber, `row 3 of "x" is out of range once standardised`},
		"held out, no sum": {[]float64{0, 1e-10, -1e300}, dataerr.ErrNumber, "row 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &columnar.Sheet{Name: "file", Rows: 3, Columns: []*columnar.Column{{Name: "x", Numbers: tc.numbers}}}
			p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x"}}}
			_, err := fitScales(p, s, []int{0, 1}, nil)
			if err == nil {
				_, err = MakeFeatures(p, s, []int{2})
			}
			datatest.CheckError(t, err, tc.want, tc.says)
		})
	}
}

// TestPreparationRead checks that a preparation prepares new rows in the same way after writing and
// reading.
func TestPreparationRead(t *testing.T) {
	s, p := fewRows()
	p.Absent = []string{"?"}
	require.Value(fitScales(p, s, []int{0, 1, 3}, nil))(t)
	want, err := MakeFeatures(p, s, []int{0, 1, 2, 3})
	require.NoError(t, err)
	written, err := json.Marshal(p)
	require.NoError(t, err)
	var again tabular.Preparation
	require.NoError(t, json.Unmarshal(written, &again))
	text := "c;flat;extra;y;x\nb;0.1;p;2;1\na;0.1;q;?;3\nother;7;r;?;100\n?;0.1;s;4;5\n"
	schema := &columnar.Schema{Absent: again.Absent, Columns: featureSpecs(&again)}
	same, err := columnar.ReadSheet(strings.NewReader(text), "new", schema)
	require.NoError(t, err)
	got, err := MakeFeatures(&again, same, []int{0, 1, 2, 3})
	require.NoError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = columnar.ReadSheet(strings.NewReader(strings.Replace(text, "other", "elsewhere", 1)), "new", schema)
	datatest.CheckError(t, err, dataerr.ErrCategory, `new: line 4, column 1: c: unknown category "elsewhere", want one of a, b, other`)
}

func TestPreparationCheck(t *testing.T) {
	number := tabular.Encoding{Column: "x", Scale: 1}
	for name, tc := range map[string]struct {
		p  tabular.Preparation
		ok bool
	}{
		"columns":           {tabular.Preparation{Encodings: []tabular.Encoding{number, {Column: "c", Categories: []string{"a", "b"}, Levels: []string{"b"}}}}, true},
		"numbers":           {tabular.Preparation{Numbers: []int{1, 3}, Indices: 3}, true},
		"nothing":           {tabular.Preparation{}, false},
		"both":              {tabular.Preparation{Encodings: []tabular.Encoding{number}, Numbers: []int{1}, Indices: 1}, false},
		"twice":             {tabular.Preparation{Numbers: []int{1, 1}, Indices: 3}, false},
		"an infinite scale": {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: math.Inf(1)}}}, false},
		"a NaN as scale":    {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: math.NaN()}}}, false},
		"a NaN as mean":     {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Center: math.NaN()}}}, false},
		"a negative scale":  {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: -1}}}, false},
		"a decimal comma":   {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Decimal: ","}}}, true},
		"a decimal sign":    {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Decimal: ";"}}}, false},
		"a date":            {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Date: "2006-01-02", Part: textvalue.DatePart}}}, true},
		"a date, no part":   {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Date: "2006-01-02"}}}, false},
		"a part, no date":   {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Part: textvalue.DatePart}}}, false},
		"not increasing":    {tabular.Preparation{Numbers: []int{3, 1}, Indices: 3}, false},
		"zero":              {tabular.Preparation{Numbers: []int{0}, Indices: 3}, false},
		"beyond":            {tabular.Preparation{Numbers: []int{4}, Indices: 3}, false},
		"without a scale":   {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x"}}}, false},
		"an infinite mean":  {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Center: math.Inf(1)}}}, false},
		"a strange level":   {tabular.Preparation{Encodings: []tabular.Encoding{{Column: "c", Categories: []string{"a"}, Levels: []string{"b"}}}}, false},
	} {
		if err := tc.p.Check(); (err == nil) != tc.ok || err != nil && !errors.Is(err, dataerr.ErrColumn) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The mean and the deviation of two numbers, at the smallest deviation, and without numbers; in a
// column of its own, and in a Wide beside another column.
func TestMeanAndDeviation(t *testing.T) {
	no := math.NaN()
	for _, tc := range []struct {
		x               []float64
		mean, deviation float64
	}{
		{[]float64{1, 5, 100}, 3, 2}, {[]float64{no, 4, 100}, 4, 0}, {[]float64{no, no, 1}, 0, 0}, {[]float64{0.1, 0.1, 1}, 0.1, 0},
		{[]float64{0, 2 * minScale, 1}, minScale, minScale}, {[]float64{0, 1, 100}, 0.5, 1}, {[]float64{-5e-324, 5e-324, 1}, 0, math.SmallestNonzeroFloat64},
	} {
		own := preparedColumn{Encoding: &tabular.Encoding{}, Column: &columnar.Column{Numbers: tc.x}}
		wide := &columnar.Wide{Columns: 2, Double: []float64{7, tc.x[0], 7, tc.x[1], 7, tc.x[2]}}
		for _, g := range []numbers{{own}, {{Encoding: &tabular.Encoding{}, Column: &columnar.Column{Wide: wide, At: 1, Lacks: tc.x[0] != tc.x[0]}}}} {
			all, rows := []totals{newTotals()}, []int{0, 1}
			g.add(all, rows, nil)
			g.addSquares(all, rows, nil)
			if mean, deviation := all[0].moments(); mean != tc.mean || deviation != tc.deviation {
				t.Errorf("%v: %v, %v, want %v, %v", tc.x, mean, deviation, tc.mean, tc.deviation)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 13 { // columns of a Wide have the moments of columns of their own
		kinds := [][]float64{{0}, {0, 1}, {0, 0.5, 1}, {-1, 1}, {3}, {0, 0, 0, 0, 0, 2}, {0, 0, 0, 1, 1, 1, 1, 0.5}}
		wide := &columnar.Wide{Columns: len(kinds)}
		rows, all, g := make([]int, n), make([]totals, len(kinds)), numbers{}
		for i := range rows {
			rows[i] = n - 1 - i
			for _, kind := range kinds {
				wide.Single = append(wide.Single, float32(kind[r.IntN(len(kind))]))
			}
		}
		for j := range all {
			all[j], g = newTotals(), append(g, preparedColumn{Encoding: &tabular.Encoding{}, Column: &columnar.Column{Wide: wide, At: j}})
		}
		g.add(all, rows, nil)
		g.addSquares(all, rows, nil)
		for j := range all {
			one := newTotals()
			one.add(g[j].Listed(), rows, nil)
			one.addSquares(g[j].Listed(), rows, nil)
			mean, deviation := all[j].moments()
			if m, d := one.moments(); mean != m || deviation != d {
				t.Errorf("%v: %v, %v, want %v, %v", g[j].Listed(), mean, deviation, m, d)
			}
		}
	}
	s := &columnar.Sheet{Name: "file", Rows: 2, Columns: []*columnar.Column{{Name: "x", Numbers: []float64{0, 2 * minScale}}, {Name: "y", Numbers: []float64{no, no}}}}
	p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x"}, {Column: "y", Missing: true}}}
	if constant, err := fitScales(p, s, []int{0, 1}, nil); err != nil || p.Encodings[0].Scale != minScale || len(constant) != 1 || p.Encodings[1].Scale != 1 {
		t.Errorf("%+v, %v, %v", p.Encodings, constant, err)
	}
}

// TestExactWeights sums weights in two orders: the sums are equal, and each weight keeps its value
// to the rounding of the total. Whole numbers and weights of a power of two stay as they are.
func TestExactWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, factor := range []float64{1, 0.37, 1e-90, 1e90} {
		weights := make([]float64, 3000)
		for i := range weights {
			if weights[i] = factor * math.Exp(5*rng.NormFloat64()); i%7 == 0 {
				weights[i] = 0
			}
		}
		exact := ExactWeights(weights)
		forward, total := 0.0, 0.0
		for _, w := range exact {
			forward += w
		}
		backward := 0.0
		for _, i := range rng.Perm(len(exact)) {
			backward += exact[i]
		}
		for i, w := range weights {
			total += w
			if (w == 0) != (exact[i] == 0) || math.Abs(exact[i]-w) > 1e-15*forward {
				t.Fatalf("weight %v became %v", w, exact[i])
			}
		}
		if forward != backward || math.Abs(forward-total) > 1e-12*total {
			t.Errorf("factor %v: the sums are %v and %v, want about %v", factor, forward, backward, total)
		}
	}
	for _, weights := range [][]float64{{1, 2, 3, 0}, {1e12, 1, 7}, {0.25, 0.5, 8}} {
		if got := ExactWeights(weights); !slices.Equal(got, weights) {
			t.Errorf("%v became %v", weights, got)
		}
	}
	if got := ExactWeights([]float64{1e30, 1e-30}); got[1] <= 0 {
		t.Errorf("a small weight became %v", got[1])
	}
	if got := ExactWeights([]float64{0, 0}); got != nil {
		t.Errorf("zeros became %v", got)
	}
}

func TestQuantile(t *testing.T) {
	sorted := []float64{1, 2, 4, 8, 16}
	for q, want := range map[int]float64{0: 1, 5: 1.2, 25: 2, 50: 4, 60: 5.6, 95: 14.4, 100: 16} {
		if got := Quantile(sorted, q); math.Abs(got-want) > 1e-14 {
			t.Errorf("percentile %d is %v, want %v", q, got, want)
		}
	}
	if got := Quantile([]float64{3}, 95); got != 3 {
		t.Errorf("of one number: %v", got)
	}
}

// Of 200 training rows with x = y = 0 ... 199, the quantile q is at 199 q/100,
// and the intersection of two is the set above the larger. Above q05 there are
// 190 rows, above q15 170, ... above q95 10: of the 10 x 10 combinations all
// have more than two rows, and ten of them differ.
func TestIntersections(t *testing.T) {
	by := &Intersections{Names: []string{"x", "y"}, Values: make([][]float64, 2)}
	var train []int
	for i := range 300 { // the last hundred rows are held out, with values above all training rows
		v := float64(i)
		if i >= 200 {
			v = 1e6
		} else {
			train = append(train, i)
		}
		by.Values[0], by.Values[1] = append(by.Values[0], v), append(by.Values[1], v)
	}
	groups, note, err := by.Groups(train)
	require.NoError(t, err)
	if note != "100 of 100 intersectional groups have more than 1 % of the training rows; 10 of them differ." {
		t.Error(note)
	}
	for k, g := range groups {
		a, b := k/10, k%10
		if want := fmt.Sprintf("x>q%02d & y>q%02d", 5+10*a, 5+10*b); g.Name != want {
			t.Errorf("group %d is %s, want %s", k, g.Name, want)
		}
		if want := []string{fmt.Sprintf("x>%g", 1.99*float64(5+10*a)), fmt.Sprintf("y>%g", 1.99*float64(5+10*b))}; !slices.Equal(g.Conditions, want) {
			t.Errorf("%s: conditions %q, want %q", g.Name, g.Conditions, want)
		}
		above := 190 - 20*max(a, b)
		if len(g.Rows) != above+100 || g.Rows[0] != 200-above || !slices.IsSorted(g.Rows) {
			t.Errorf("%s: %d rows from %d on, want %d", g.Name, len(g.Rows), g.Rows[0], above+100)
		}
	}
}

// TestIntersectionsAreStrict checks that rows at a quantile are not above the quantile, and that a
// group of exactly a hundredth of the training rows is not kept.
func TestIntersectionsAreStrict(t *testing.T) {
	by := &Intersections{Names: []string{"x"}, Values: [][]float64{slices.Repeat([]float64{0}, 200)}}
	var train []int
	for i := range 200 {
		train = append(train, i)
	}
	by.Values[0][7], by.Values[0][8] = 1, 1 // 1 % of the rows
	_, _, err := by.Groups(train)
	datatest.CheckError(t, err, dataerr.ErrGroup, "no intersection of x has more than 1 % of the training rows")
	by.Values[0][9] = 1
	groups, note, err := by.Groups(train)
	if err != nil || note != "10 of 10 intersectional groups have more than 1 % of the training rows; 1 of them differ." {
		t.Error(note, err)
	}
	if diff := cmp.Diff([]int{7, 8, 9}, groups[9].Rows); diff != "" {
		t.Error(diff)
	}
}
