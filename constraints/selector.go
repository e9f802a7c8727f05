package constraints

import "strings"

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
