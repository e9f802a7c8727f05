package datasets

import (
	"fmt"
	"strings"
)

// Problems lists everything that is wrong with the columns of a user's file. errors.Is and
// errors.As see each problem.
type Problems struct {
	Path   string       // the file
	List   []*FileError // at least one
	Advice string       // what solves several of them together; may be empty
}

// Error returns one line for a single problem; else a line with their number, a line for each, and
// a line with the advice.
func (p *Problems) Error() string {
	if len(p.List) == 1 {
		return p.List[0].Error()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "datasets: %s: %d problems:", p.Path, len(p.List))
	for _, e := range p.List {
		text.WriteString("\n  " + strings.TrimPrefix(e.Error(), "datasets: "+p.Path+": "))
	}
	if p.Advice != "" {
		text.WriteString("\n  " + p.Advice)
	}
	return text.String()
}

// Unwrap returns the problems.
func (p *Problems) Unwrap() []error {
	list := make([]error, len(p.List))
	for i, e := range p.List {
		list[i] = e
	}
	return list
}

// add adds a problem.
func (p *Problems) add(e *FileError) { p.List = append(p.List, e) }

// found returns the problems as an error, nil if there are none. flags solve all of them.
func (p *Problems) found(flags []string) error {
	if len(p.List) == 0 {
		return nil
	}
	if len(p.List) > 1 && len(flags) > 0 {
		p.Advice = "for all of them: " + strings.Join(flags, " ")
	}
	return p
}
