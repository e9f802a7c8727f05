package dataerr

import (
	"fmt"
	"strings"
)

// Problems is an error that lists all problems with the columns of a user's file. errors.Is and
// errors.As examine each problem.
type Problems struct {
	Path   string       // the file
	List   []*FileError // at least one
	Advice string       // advice that solves all problems together; may be empty
}

// Error returns one line for a single problem. For several problems it returns a line with the
// number of problems, a line for each problem, and a line with the advice.
func (p *Problems) Error() string {
	if len(p.List) == 1 {
		return p.List[0].Error()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "datasets: %s: %d problems:", p.Path, len(p.List))
	for _, e := range p.List {
		if e.Path == p.Path {
			text.WriteString("\n  " + e.problem())
		} else {
			text.WriteString("\n  " + e.Error())
		}
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

// Add adds a problem.
func (p *Problems) Add(e *FileError) { p.List = append(p.List, e) }

// Found returns the problems as an error, or nil if the list is empty. The advice names flags,
// which solve all problems.
func (p *Problems) Found(flags []string) error {
	if len(p.List) == 0 {
		return nil
	}
	if len(flags) > 0 {
		p.Advice = "for all of them: " + strings.Join(flags, " ")
	}
	return p
}
