package constraints

import (
	"fmt"
	"math"
	"slices"
)

// Population describes rows for the constraint language, without features and scores.
type Population struct {
	// Labels has the class of each row, an index into Classes.
	Labels []int
	// Classes names the classes. With two classes, the last class is the positive class.
	Classes []string
	// Attributes are the attributes that constraints name: sex, race, ...
	Attributes []Attribute
	// Groups are named sets of rows that may overlap, without weights. Constraints name them as the
	// values of the attribute "groups", unless an attribute has this name.
	Groups []Group
	// Earlier holds the earlier decisions, by the file that a churn names. A decision is an index
	// into Classes, or -1 for a row without an earlier decision.
	Earlier map[string][]int
	// Weights has the weight of each row, a finite number above 0; nil: 1 each. A rate is the weight
	// of the rows that it counts over the weight of its rows, so that a row of weight 2 counts as two
	// equal rows, and a common factor of all weights changes nothing.
	Weights []float64
	// Queries has the query of each row, an index into QueryNames; nil: the rows are no documents of
	// queries. The rates of pairs need queries, and take the class of a document as its relevance.
	// Their constraints name the queries as the values of the attribute "query".
	Queries    []int32
	QueryNames []string
}

// Attribute is a categorical attribute of the rows.
type Attribute struct {
	Name   string
	Values []string
	Of     []int // the index of each row's value, -1: missing
}

// Quoted returns the attribute's name as the language writes it.
func (a Attribute) Quoted() string { return quoted(a.Name) }

// Len returns the number of rows.
func (p *Population) Len() int { return len(p.Labels) }

// Decide returns the decision of each row, an index into Classes. scores are row-major. With one
// score for each row, the decision is class 1 if the score is above 0, else class 0. Otherwise the
// decision is the class with the largest score, and the first class among equal scores.
func (p *Population) Decide(scores []float64) ([]int, error) {
	n, c := p.Len(), len(p.Classes)
	decisions := make([]int, n)
	for i, s := range scores {
		if math.IsNaN(s) {
			return nil, fmt.Errorf("constraints: score %d of row %d is NaN", i%max(1, len(scores)/n), i/max(1, len(scores)/n))
		}
	}
	switch {
	case len(scores) == n && c == 2:
		for i, s := range scores {
			if s > 0 {
				decisions[i] = 1
			}
		}
	case len(scores) == n*c:
		for i := range decisions {
			decisions[i] = argmax(scores[i*c:][:c])
		}
	default:
		return nil, fmt.Errorf("constraints: %d scores for %d rows of %d classes", len(scores), n, c)
	}
	return decisions, nil
}

// check returns an error if the lengths or indices of a population are inconsistent.
func (p *Population) check() error {
	if p == nil || len(p.Labels) == 0 {
		return fmt.Errorf("constraints: no rows")
	}
	if len(p.Classes) < 2 {
		return fmt.Errorf("constraints: decisions need at least 2 classes, got %d", len(p.Classes))
	}
	if err := checkNames("class", p.Classes); err != nil {
		return err
	}
	for i, y := range p.Labels {
		if y < 0 || y >= len(p.Classes) {
			return fmt.Errorf("constraints: row %d has label %d, want 0..%d", i, y, len(p.Classes)-1)
		}
	}
	names := make(map[string]bool, len(p.Attributes))
	for _, a := range p.Attributes {
		if names[a.Name] {
			return fmt.Errorf("constraints: attribute %q is given twice", a.Name)
		}
		names[a.Name] = true
		if err := p.checkIndices(a.Of, len(a.Values)); err != nil {
			return fmt.Errorf("constraints: attribute %q: %w", a.Name, err)
		}
	}
	if err := p.checkGroups(); err != nil {
		return err
	}
	if err := p.checkWeights(); err != nil {
		return err
	}
	if err := p.checkQueries(); err != nil {
		return err
	}
	for file, indices := range p.Earlier {
		if err := p.checkIndices(indices, len(p.Classes)); err != nil {
			return fmt.Errorf("constraints: earlier decisions of %s: %w", file, err)
		}
	}
	return nil
}

// checkWeights returns an error for a weight that is no positive number.
func (p *Population) checkWeights() error {
	switch {
	case p.Weights == nil:
		return nil
	case len(p.Weights) != len(p.Labels):
		return fmt.Errorf("constraints: %d rows have weights, want %d", len(p.Weights), len(p.Labels))
	case p.Queries != nil:
		return fmt.Errorf("constraints: rates of pairs of documents count pairs, and rows with queries have no weights: leave the weights out")
	}
	for i, w := range p.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("constraints: row %d has the weight %v, want a finite number above 0: leave out rows of weight 0", i, w)
		}
	}
	return nil
}

// weight returns the weight of a row.
func (p *Population) weight(row int32) float64 {
	if p.Weights == nil {
		return 1
	}
	return p.Weights[row]
}

// all returns the group of all rows with the shares of their weights.
func (p *Population) all() Group {
	g := Group{Name: AllRows, Rows: make([]int, p.Len())}
	total := 0.0
	for i := range g.Rows {
		g.Rows[i] = i
		total += p.weight(int32(i))
	}
	for _, w := range p.Weights {
		g.Weights = append(g.Weights, w/total)
	}
	return g
}

// checkQueries returns an error if the queries are inconsistent.
func (p *Population) checkQueries() error {
	if p.Queries == nil {
		return nil
	}
	if len(p.Queries) != len(p.Labels) {
		return fmt.Errorf("constraints: %d rows have queries, want %d", len(p.Queries), len(p.Labels))
	}
	for i, q := range p.Queries {
		if q < 0 || int(q) >= len(p.QueryNames) {
			return fmt.Errorf("constraints: row %d has query %d, want 0..%d", i, q, len(p.QueryNames)-1)
		}
	}
	return checkNames("query", p.QueryNames)
}

// checkGroups returns an error if two groups share a name or if a group has an unknown row.
func (p *Population) checkGroups() error {
	if p.Groups == nil {
		return nil
	}
	if err := checkNames("group", groupNames(p.Groups)); err != nil {
		return err
	}
	for _, g := range p.Groups {
		for _, i := range g.Rows {
			if i < 0 || i >= p.Len() {
				return fmt.Errorf("constraints: the group %s has row %d, want 0..%d", g.Name, i, p.Len()-1)
			}
		}
	}
	return nil
}

// checkIndices returns an error unless the list has an index from -1 to count-1 for each row.
func (p *Population) checkIndices(indices []int, count int) error {
	if len(indices) != len(p.Labels) {
		return fmt.Errorf("%d rows, want %d", len(indices), len(p.Labels))
	}
	for i, v := range indices {
		if v < -1 || v >= count {
			return fmt.Errorf("row %d has value %d, want -1..%d", i, v, count-1)
		}
	}
	return nil
}

// GroupsName is the attribute name of Population.Groups.
const GroupsName = "groups"

// named returns the attributes, and Groups as an attribute without Of.
func (p *Population) named() []Attribute {
	if p.Groups == nil || p.attribute(GroupsName) != nil {
		return p.Attributes
	}
	return append(slices.Clip(p.Attributes), Attribute{Name: GroupsName, Values: groupNames(p.Groups)})
}

func groupNames(groups []Group) []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

// with reports for each row whether the row meets the condition. The error says that the rows do
// not have the attribute or the group.
func (p *Population) with(c condition) (meets []bool, err error) {
	meets = make([]bool, p.Len())
	if a := p.attribute(c.attribute); a != nil {
		value := slices.Index(a.Values, c.value)
		for i, v := range a.Of {
			meets[i] = v >= 0 && v == value
		}
		return meets, nil
	}
	if c.attribute != GroupsName || p.Groups == nil {
		return nil, fmt.Errorf("constraints: the rows have no attribute %q", c.attribute)
	}
	k := slices.IndexFunc(p.Groups, func(g Group) bool { return g.Name == c.value })
	if k < 0 {
		return nil, fmt.Errorf("constraints: the rows have no group %q", c.value)
	}
	for _, i := range p.Groups[k].Rows {
		meets[i] = true
	}
	return meets, nil
}

// attribute returns the attribute with the given name, or nil.
func (p *Population) attribute(name string) *Attribute {
	for k := range p.Attributes {
		if p.Attributes[k].Name == name {
			return &p.Attributes[k]
		}
	}
	return nil
}

// argmax returns the index of the largest element, the lowest index among equal elements.
func argmax(row []float64) int {
	best := 0
	for j, s := range row {
		if s > row[best] {
			best = j
		}
	}
	return best
}

// Needs lists the properties of the rows that an objective and constraints use.
type Needs struct {
	Attributes []string // the attributes that the objective and the constraints name
	Texts      []string // for each attribute, the first objective or constraint that names it
	Values     []string // values without an attribute: classes, or groups such as Female
	Files      []string // the files of earlier decisions
	L1         bool     // a constraint bounds the l1 norm of the weights
}

// Groups reports whether an objective or a constraint names the attribute "groups".
func (n Needs) Groups() bool { return slices.Contains(n.Attributes, GroupsName) }

// NeedsOf returns the needs of an objective and constraints. The lists are in order of first use.
func NeedsOf(minimize Rate, subject []Constraint) Needs {
	var n Needs
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	attribute := func(name, text string) {
		if add(&n.Attributes, name); len(n.Texts) < len(n.Attributes) {
			n.Texts = append(n.Texts, text)
		}
	}
	rate := func(r Rate, text string) {
		for _, s := range r.selectors() {
			switch {
			case r.OfPairs() && s.attribute == QueryName: // the rows have queries
			case s.attribute != "" && s.attribute != className:
				attribute(s.attribute, text)
			case s.attribute == "" && !s.each:
				add(&n.Values, s.value)
			}
		}
	}
	for _, t := range minimize.terms() {
		rate(t.rate, minimize.String())
	}
	for _, c := range subject {
		rate(c.measure.rate, c.String())
		for _, name := range c.measure.Attributes() {
			attribute(name, c.String())
		}
		if c.measure.form == formChurn {
			add(&n.Files, c.measure.file)
		}
		n.L1 = n.L1 || c.measure.form == formL1
	}
	return n
}

// UnknownAttribute returns the *SyntaxError for an attribute that the rows do not have. k is the
// attribute's index in Attributes. The hint lists the attributes of the rows.
func (n Needs) UnknownAttribute(k int, hint string) error {
	name := n.Attributes[k]
	return (&resolver{text: n.Texts[k]}).failed(name, fmt.Sprintf("there is no attribute %q", name), hint)
}

// checkNames returns an error if names is empty or if two names are equal.
func checkNames(what string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("constraints: no %ss", what)
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("constraints: %s %q is given twice", what, name)
		}
		seen[name] = true
	}
	return nil
}

// Bounds returns one bound for each of n constraints. given holds a single bound for all
// constraints, or a bound for each constraint; otherwise the error says how many are possible.
func Bounds(given []float64, n int) ([]float64, error) {
	switch {
	case len(given) == 1 || len(given) == n && n > 0:
	case n == 1:
		return nil, fmt.Errorf("%d values; give one", len(given))
	default:
		return nil, fmt.Errorf("%d values; give one, or %d, one for each constraint", len(given), n)
	}
	bounds := make([]float64, n)
	for k := range bounds {
		bounds[k] = given[min(k, len(given)-1)]
	}
	return bounds, nil
}
