package loader

import (
	"fmt"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/textvalue"
)

// attributesOf makes one attribute for each text. A text is a column's name or a condition on a
// column. column returns the named column with a value for each row. The result columns names the
// columns that determine the attributes. With flag, "missing" is a value.
func attributesOf(texts, names []string, column func(name string) *columnar.Column, flag bool) (attributes []tabular.Attribute, columns []string, err error) {
	for _, text := range texts {
		c, err := columnar.ParseCondition(text, names)
		if err == nil {
			var a tabular.Attribute
			if a, err = columnar.AttributeOf(&c, column(c.Column), flag); err == nil {
				attributes, columns = append(attributes, a), append(columns, c.Column)
				continue
			}
		}
		return nil, nil, fmt.Errorf("datasets: attribute: %w", err)
	}
	return attributes, columns, nil
}

// ColumnsWith returns the columns that have one of the values as a category, without regard to
// case. It skips values that a class or a known attribute has.
func ColumnsWith(values, classes []string, known []tabular.Attribute, names []string, categories func(name string) []string) (columns []string) {
	for _, v := range values {
		if slices.Contains(classes, v) || slices.ContainsFunc(known, func(a tabular.Attribute) bool { return slices.Contains(a.Values, v) }) {
			continue
		}
		for _, name := range names {
			has := slices.ContainsFunc(categories(name), func(c string) bool { return strings.EqualFold(c, v) })
			known := slices.ContainsFunc(known, func(a tabular.Attribute) bool { return a.Name == name })
			if has && !known && !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	return columns
}

// Attributes makes the attributes of a sparse table that the texts name. The blocks of features are
// its columns: sex, race=White. Without blocks, an attribute is a feature's number, with the values
// "feature 5" (the row has an entry) and "the rest". by holds the first feature of each block that
// the texts use or, without blocks, the features themselves.
func (d *SparseDesign) Attributes(x entries, texts []string) (attributes []tabular.Attribute, by []int32, err error) {
	if d.Blocks == nil {
		return d.entries(x, texts)
	}
	rows, _ := x.Dims()
	attributes, columns, err := attributesOf(texts, d.Titles, func(name string) *columnar.Column {
		block := slices.Index(d.Titles, name)
		c := &columnar.Column{Name: name, Codes: slices.Repeat([]int32{-1}, rows)}
		first := slices.Index(d.Blocks, block)
		c.Values = d.Categories(name)
		for i := range rows {
			each(x, i, func(j int32) {
				if d.Blocks[j] == block {
					c.Codes[i] = j - int32(first)
				}
			})
		}
		return c
	}, false)
	for _, name := range columns {
		by = append(by, int32(slices.Index(d.Blocks, slices.Index(d.Titles, name))))
	}
	return attributes, by, err
}

// Categories returns the categories of a block of features.
func (d *SparseDesign) Categories(title string) (list []string) {
	block := slices.Index(d.Titles, title)
	for j := slices.Index(d.Blocks, block); j < len(d.Blocks) && d.Blocks[j] == block; j++ {
		list = append(list, d.Names[j][len(title)+len("="):])
	}
	return list
}

// entries makes one attribute for each named feature. The attribute says whether a row has an entry
// of the feature.
func (d *SparseDesign) entries(x entries, texts []string) (attributes []tabular.Attribute, features []int32, err error) {
	_, cols := x.Dims()
	if features, err = d.Find(texts, cols); err != nil {
		return nil, nil, err
	}
	for k, j := range features {
		attributes = append(attributes, d.entry(x, j))
		attributes[k].Name = texts[k]
	}
	return attributes, features, nil
}

// entry returns the attribute that says whether a row has an entry of feature j.
func (d *SparseDesign) entry(x entries, j int32) tabular.Attribute {
	rows, _ := x.Dims()
	a := tabular.Attribute{Values: []string{d.name(j), columnar.TheRest}, Of: make([]int, rows)}
	if d.Names == nil {
		a.Values[0] = "feature " + d.name(j)
	}
	for i := range a.Of {
		if !x.Has(i, j) {
			a.Of[i] = 1
		}
	}
	return a
}

// Intersections makes intersectional groups. A row is in a group if each of several columns is
// above a quantile of its training rows. All combinations of ten quantiles are tried, and groups
// with more than a hundredth of the training rows are kept (after Narasimhan, Cotter, Zhou, Wang,
// Guo, "Approximate heavily-constrained learning with Lagrange multiplier models", NeurIPS 2020).
// Equal quantiles give equal groups.
type Intersections struct {
	Names  []string
	Values [][]float64 // values of all rows, column by column
}

// IntersectionQuantiles are 0.05, 0.15 ... 0.95, in hundredths.
var IntersectionQuantiles = [...]int{5, 15, 25, 35, 45, 55, 65, 75, 85, 95}

// intersectionShare is the share of the training rows, in percent, that a group must exceed.
const intersectionShare = 1

func newIntersections(s *columnar.Sheet, columns []string) *Intersections {
	by := &Intersections{Names: columns}
	for _, name := range columns {
		by.Values = append(by.Values, s.Column(name).Numbers)
	}
	return by
}

// Groups returns the groups over all rows, and a note with the number of groups.
func (by *Intersections) Groups(train []int) (kept []tabular.Group, note string, err error) {
	above := make([][][]bool, len(by.Values)) // indexed by column, quantile and row
	conditions := make([][]string, len(by.Values))
	for c, values := range by.Values {
		sorted := make([]float64, len(train))
		for k, i := range train {
			sorted[k] = values[i]
		}
		slices.Sort(sorted)
		for _, q := range IntersectionQuantiles {
			threshold := Quantile(sorted, q)
			rows := make([]bool, len(values))
			for i, x := range values {
				rows[i] = x > threshold
			}
			above[c] = append(above[c], rows)
			conditions[c] = append(conditions[c], by.Names[c]+">"+textvalue.FormatNumber(threshold))
		}
	}
	total := 1
	for range by.Values {
		total *= len(IntersectionQuantiles)
	}
	distinct := map[string]bool{}
	for k := range total {
		g := by.intersect(above, conditions, k)
		count, members := 0, make([]byte, len(train))
		for t, i := range train {
			if _, in := slices.BinarySearch(g.Rows, i); in {
				members[t] = 1
				count++
			}
		}
		if 100*count > intersectionShare*len(train) {
			kept = append(kept, g)
			distinct[string(members)] = true
		}
	}
	if len(kept) == 0 {
		return nil, "", fmt.Errorf("datasets: %w: no intersection of %s has more than %d %% of the training rows",
			dataerr.ErrGroup, strings.Join(by.Names, ", "), intersectionShare)
	}
	return kept, fmt.Sprintf("%d of %d intersectional groups have more than %d %% of the training rows; %d of them differ.",
		len(kept), total, intersectionShare, len(distinct)), nil
}

// intersect returns the group of combination k. In base ten, each digit of k is the quantile's
// index for one column; the last digit belongs to the last column.
func (by *Intersections) intersect(above [][][]bool, conditions [][]string, k int) tabular.Group {
	digits := make([]int, len(above))
	for c := len(above) - 1; c >= 0; c-- {
		digits[c] = k % len(IntersectionQuantiles)
		k /= len(IntersectionQuantiles)
	}
	var g tabular.Group
	for i := range by.Values[0] {
		in := true
		for c, d := range digits {
			in = in && above[c][d][i]
		}
		if in {
			g.Rows = append(g.Rows, i)
		}
	}
	var terms []string
	for c, d := range digits {
		g.Levels = append(g.Levels, float64(IntersectionQuantiles[d])/100)
		g.Conditions = append(g.Conditions, conditions[c][d])
		terms = append(terms, fmt.Sprintf("%s>q%02d", by.Names[c], IntersectionQuantiles[d]))
	}
	g.Name = strings.Join(terms, " & ")
	return g
}

// Quantile returns the q-th percentile of increasing numbers, interpolated linearly.
func Quantile(sorted []float64, q int) float64 {
	at := q * (len(sorted) - 1)
	i, rest := at/100, at%100
	if rest == 0 {
		return sorted[i]
	}
	return sorted[i] + float64(rest)/100*(sorted[i+1]-sorted[i])
}
