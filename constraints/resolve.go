package constraints

import (
	"fmt"
	"slices"
	"strings"

	"ppal/internal/option"
)

// selector restricts a rate to a class or to rows: "value", "attribute=value", "*", "attribute=*".
type selector struct {
	attribute string // "": the value is a class, or determines the attribute
	value     string
	each      bool // selects each class, or each value of the attribute
}

// selectors reads selectors with commas between them, up to "min" or the end of the list.
func (p *parser) selectors() ([]selector, error) {
	var list []selector
	for {
		at := p.peek()
		s, err := p.selector()
		if err != nil {
			return nil, err
		}
		for _, other := range list {
			if other == s || other.attribute != "" && other.attribute == s.attribute {
				return nil, p.failed(at, s.String()+": the selector is given twice", "give each attribute once")
			}
		}
		list = append(list, s)
		if t := p.peek(); t.kind != tokenSymbol || t.text != "," {
			return list, nil
		}
		p.take()
		if p.isMinimum() {
			p.next-- // leave the comma to the caller
			return list, nil
		}
	}
}

// selector reads one selector.
func (p *parser) selector() (selector, error) {
	const want = "give a class, a value of an attribute, attribute=value, or *"
	if p.symbol("*") {
		return selector{each: true}, nil
	}
	name, err := p.name(want)
	if err != nil {
		return selector{}, err
	}
	if !p.symbol("=") {
		return selector{value: name}, nil
	}
	if p.symbol("*") {
		return selector{attribute: name, each: true}, nil
	}
	value, err := p.name("give a value of " + name + ", or *")
	return selector{attribute: name, value: value}, err
}

// String returns the selector in canonical text.
func (s selector) String() string {
	value := "*"
	if !s.each {
		value = quoted(s.value)
	}
	if s.attribute == "" {
		return value
	}
	return quoted(s.attribute) + "=" + value
}

func formatSelectors(list []selector) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = s.String()
	}
	return strings.Join(texts, ", ")
}

// readSelector parses a selector from a Go program. Text outside the grammar of selectors is a
// value.
func readSelector(text string) selector {
	p := between(text)
	s, err := p.selector()
	if err != nil || p.end() != nil {
		return selector{value: text}
	}
	return s
}

// formatNames returns the names in the language: sex*race.
func formatNames(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
	}
	return strings.Join(list, "*")
}

// resolver finds the classes and groups that a constraint names.
type resolver struct {
	p     *Population
	text  string // the canonical text of the constraint
	pairs bool   // the rate counts pairs, so that "query" is an attribute
}

// failed returns the *SyntaxError for a name of the constraint, at the position of the name.
func (r *resolver) failed(name, problem, hint string) error {
	e := &SyntaxError{Text: r.text, Problem: problem, Hint: hint}
	p := newParser(r.text)
	for k, t := range p.tokens {
		// A name follows a bracket, a comma, a star or an equals sign.
		if k > 0 && p.tokens[k-1].kind == tokenSymbol && (t.kind == tokenWord || t.kind == tokenQuoted) && t.text == name {
			e.At = t.at
		}
	}
	return e
}

// className is the attribute name that selects a class, if no attribute has that name.
const className = "class"

// subset restricts a rate to a class and to rows.
type subset struct {
	class     int // -1: none
	className string
	where     []condition
	label     []string // the selectors as text
}

func (s subset) with(c condition) subset {
	s.where = append(slices.Clone(s.where), c)
	slices.SortFunc(s.where, func(a, b condition) int { return strings.Compare(a.attribute, b.attribute) })
	s.label = append(slices.Clone(s.label), selector{attribute: c.attribute, value: c.value}.String())
	return s
}

// group names the rows of the subset, as tables of rates name groups of rows.
func (s subset) group() string {
	if len(s.label) == 0 {
		return AllRows
	}
	if len(s.where) == 0 {
		return "class " + s.className
	}
	name := nameOf(s.where)
	if s.class >= 0 {
		name += ", class " + s.className
	}
	return name
}

func (s subset) ofClass(k int, name string) subset {
	s.class, s.className = k, name
	s.label = append(slices.Clone(s.label), quoted(name))
	return s
}

// subsets resolves the selectors of a rate. It returns a single subset or, with *, one for each
// class or group. each reports whether a selector was *.
func (r *resolver) subsets(rate Rate) (list []subset, each bool, err error) {
	list = []subset{{class: -1}}
	r.pairs = rate.OfPairs()
	for _, s := range rate.selectors() {
		var next []subset
		add, err := r.selector(s)
		if err != nil {
			return nil, false, err
		}
		for _, old := range list {
			for _, f := range add {
				grown, err := f(old)
				if err != nil {
					return nil, false, err
				}
				next = append(next, grown)
			}
		}
		list, each = next, each || s.each
	}
	return list, each, nil
}

// narrow adds the restriction of a selector to a subset.
type narrow func(subset) (subset, error)

// selector returns the restrictions that a selector adds to a subset: one, or with * one for each
// value.
func (r *resolver) selector(s selector) ([]narrow, error) {
	classes := s.attribute == "" && s.each || s.attribute == className && r.p.attribute(className) == nil
	switch {
	case classes && s.each:
		var list []narrow
		for k := range r.p.Classes {
			list = append(list, r.class(k))
		}
		return list, nil
	case classes:
		k := match(s.value, r.p.Classes)
		if k < 0 {
			k = ClassWithValue(s.value, r.p.Classes)
		}
		if k < 0 {
			return nil, r.failed(s.value, fmt.Sprintf("there is no class %q", s.value), r.hint(s.value, "the classes are ", r.p.Classes))
		}
		return []narrow{r.class(k)}, nil
	case s.attribute == "":
		return r.bare(s.value)
	}
	a, err := r.attribute(s.attribute)
	if err != nil {
		return nil, err
	}
	if s.each {
		var list []narrow
		for _, v := range a.Values {
			list = append(list, r.value(a.Name, v))
		}
		return list, nil
	}
	k := match(s.value, a.Values)
	if k < 0 {
		return nil, r.failed(s.value, fmt.Sprintf("%s has no value %q", a.Name, s.value), r.hint(s.value, "its values are ", a.Values))
	}
	return []narrow{r.value(a.Name, a.Values[k])}, nil
}

// bare resolves a value without an attribute: a class, or a value of a single attribute.
func (r *resolver) bare(value string) ([]narrow, error) {
	var found []narrow
	var full, known []string
	for _, exact := range []bool{true, false} {
		if k := matchIf(value, r.p.Classes, exact); k >= 0 {
			found, full = append(found, r.class(k)), append(full, className+"="+quoted(r.p.Classes[k]))
		}
		for _, a := range r.p.named() {
			if k := matchIf(value, a.Values, exact); k >= 0 {
				found, full = append(found, r.value(a.Name, a.Values[k])), append(full, selector{attribute: a.Name, value: a.Values[k]}.String())
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 1:
		return found, nil
	case 0:
		if k := ClassWithValue(value, r.p.Classes); k >= 0 {
			return []narrow{r.class(k)}, nil
		}
		known = slices.Clone(r.p.Classes)
		for _, a := range r.p.named() {
			known = append(known, a.Values...)
		}
		return nil, r.failed(value, fmt.Sprintf("there is no class or group %q", value), r.hint(value, "known are ", known))
	}
	return nil, r.failed(value, fmt.Sprintf("%q is ambiguous", value), "write "+strings.Join(full, " or "))
}

// attribute finds an attribute by its name.
func (r *resolver) attribute(name string) (*Attribute, error) {
	var names []string
	all := r.p.named()
	if r.pairs {
		all = append(slices.Clip(all), Attribute{Name: QueryName, Values: r.p.QueryNames})
	}
	for _, a := range all {
		names = append(names, a.Name)
	}
	k := match(name, names)
	if k < 0 {
		hint := "the rows have no attributes"
		if len(names) > 0 {
			hint = r.hint(name, "the attributes are ", names)
		}
		return nil, r.failed(name, fmt.Sprintf("there is no attribute %q", name), hint)
	}
	return &all[k], nil
}

func (r *resolver) class(k int) narrow {
	return func(s subset) (subset, error) {
		if s.class >= 0 && s.class != k {
			return s, r.failed(r.p.Classes[k], "a rate has one class", "write a constraint for each class")
		}
		return s.ofClass(k, r.p.Classes[k]), nil
	}
}

func (r *resolver) value(attribute, value string) narrow {
	return func(s subset) (subset, error) {
		for _, w := range s.where {
			switch {
			case w.attribute != attribute:
			case attribute == GroupsName:
				return s, r.failed(value, "a rate has one group", "write a constraint for each group")
			default:
				return s, r.failed(value, fmt.Sprintf("no row has two values of %s", attribute), "give one value of each attribute")
			}
		}
		return s.with(condition{attribute, value}), nil
	}
}

// mostNames bounds the names that a hint lists.
const mostNames = 12

// hint proposes the nearest name, or lists the names.
func (r *resolver) hint(name, intro string, names []string) string {
	if near := nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	texts := make([]string, 0, len(names))
	for _, n := range names {
		texts = append(texts, quoted(n))
	}
	if len(texts) > mostNames {
		return fmt.Sprintf("%s%s and %d others", intro, strings.Join(texts[:mostNames], ", "), len(texts)-mostNames)
	}
	return intro + strings.Join(texts, ", ")
}

// nearest returns the name that is most similar to the word, without regard to case, or "" if no
// name is similar.
func nearest(word string, names []string) string {
	lower := make([]string, len(names))
	for i, n := range names {
		lower[i] = strings.ToLower(n)
	}
	near := option.Nearest(strings.ToLower(word), lower)
	if near == "" {
		return ""
	}
	return names[slices.Index(lower, near)]
}

// match returns the index of the name in names: an exact match, or the only match without regard to
// case, or -1.
func match(name string, names []string) int {
	if k := matchIf(name, names, true); k >= 0 {
		return k
	}
	return matchIf(name, names, false)
}

func matchIf(name string, names []string, exact bool) int {
	if exact {
		return slices.Index(names, name)
	}
	found := -1
	for k, n := range names {
		if strings.EqualFold(n, name) {
			if found >= 0 {
				return -1
			}
			found = k
		}
	}
	return found
}

// ClassWithValue returns the index of the only class with the name COLUMN=value, as classes of
// tables and folders have it, or -1.
func ClassWithValue(value string, classes []string) int {
	found := -1
	for k, c := range classes {
		if _, own, cut := strings.Cut(c, "="); cut && own == value {
			if found >= 0 {
				return -1
			}
			found = k
		}
	}
	return found
}

// TrainedSystem resolves an objective and constraints of an earlier training on other rows. leftOut
// is System.LeftOut of the training, and the values of the attributes of rows are those of the
// training. A rate may have no rows.
func TrainedSystem(minimize Rate, subject []Constraint, rows *Population, leftOut [][]string) (*System, error) {
	if len(leftOut) != len(subject) {
		return nil, fmt.Errorf("constraints: the training left out the groups of %d constraints, want %d", len(leftOut), len(subject))
	}
	return newSystem(minimize, subject, rows, leftOut, nil)
}

// compared returns the rates of the subsets without those that the last constraint leaves out,
// because they count fewer training rows than the measure's minimum, or no row.
func (s *System) compared(r *resolver, m Measure, list []subset) (set []linear, err error) {
	left := &s.LeftOut[len(s.LeftOut)-1]
	for _, rows := range list {
		cells := len(s.Rates)
		l, err := s.rate(r, m.rate.kind, rows)
		if err != nil {
			return nil, err
		}
		n := s.rows(l)
		leave := n < max(1, m.minimum)
		if s.trained != nil {
			leave = slices.Contains(s.trained[len(s.LeftOut)-1], l.name)
		}
		if !leave {
			set = append(set, l)
			continue
		}
		if s.Margins != nil && n == 0 {
			return nil, fmt.Errorf("%w: %s: %s counts no training row", ErrEmptyGroup, r.text, l.name)
		}
		s.forget(cells) // a smooth rate without rows does not exist
		s.leftOut, *left = append(s.leftOut, fmt.Sprintf("%s (%s)", l.name, option.Counted(n, s.Unit()))), append(*left, l.name)
	}
	return set, nil
}

// forget removes the cells from index n on, which only a rate that is left out uses.
func (s *System) forget(n int) {
	for _, c := range s.Rates[n:] {
		delete(s.index, c.key())
	}
	s.Rates, s.sizes = s.Rates[:n], s.sizes[:n]
}

// note adds a note about the groups in leftOut, which a constraint does not bound.
func (s *System) note(text string, m Measure) {
	out := s.leftOut
	if len(out) == 0 {
		return
	}
	s.leftOut = nil
	n := len(out)
	if n > mostNames {
		out = append(out[:mostNames:mostNames], fmt.Sprintf("and %d others", n-mostNames))
	}
	few := "no " + s.Unit() + "s"
	if m.minimum > 1 {
		few = "fewer than " + option.Counted(m.minimum, s.Unit())
	}
	s.Notes = append(s.Notes, fmt.Sprintf("%s: left out because the rate counts %s: %s", text, few, strings.Join(out, ", ")))
}
