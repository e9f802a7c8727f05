package columnar

import (
	"math"

	"ppal/datasets/dataerr"
	"ppal/internal/textvalue"
)

// SentProfile is a profile on the way to other processes.
type SentProfile struct {
	Rows, Missing, Plain, Dotted, PointGroups int
	Absent, Unreal, Text                      *sentPosition
	AbsentText, UnrealText, Example           string
	Texts                                     [textKinds]int
	Forms                                     textvalue.FormSet
	Counting, Whole, Many                     bool
	Different                                 int
	First, Last                               uint64 // the bits of the numbers
	Values                                    []string
	Kinds, Counts, Padded                     []int // of Values; bytes would be text
}

// sentPosition is a position in the file, without an error.
type sentPosition struct {
	Path              string
	Line, Column, Row int
}

func send(at *dataerr.FileError) *sentPosition {
	if at == nil {
		return nil
	}
	return &sentPosition{at.Path, at.Line, at.Column, at.Row}
}

// Position returns the position as a *FileError, or nil if p is nil.
func (p *sentPosition) Position() *dataerr.FileError {
	if p == nil {
		return nil
	}
	return &dataerr.FileError{Path: p.Path, Offset: -1, Line: p.Line, Column: p.Column, Row: p.Row}
}

// Send returns the profile in a form that JSON encodes without loss.
func (p *Profile) Send() SentProfile {
	s := SentProfile{
		Rows: p.Rows, Missing: p.Missing, Plain: p.Plain, Dotted: p.Dotted, PointGroups: p.PointGroups,
		Absent: send(p.Absent), Unreal: send(p.Unreal), Text: send(p.Text),
		AbsentText: p.AbsentText, UnrealText: p.UnrealText, Example: p.Example, Texts: p.Texts, Forms: p.Forms, Counting: p.Counting,
		Whole: p.whole, Many: p.many, Different: p.different,
		First: math.Float64bits(p.First), Last: math.Float64bits(p.Last), Values: p.Values,
	}
	for _, v := range p.Values {
		d := p.Kinds[v]
		s.Kinds, s.Counts, s.Padded = append(s.Kinds, int(d.Kind)), append(s.Counts, d.Rows), append(s.Padded, d.Padded)
	}
	return s
}

// Profile returns the profile from which Send made s.
func (s *SentProfile) Profile(onlyCategories bool) *Profile {
	p := NewProfile(onlyCategories)
	p.Rows, p.Missing, p.Plain, p.Dotted, p.PointGroups = s.Rows, s.Missing, s.Plain, s.Dotted, s.PointGroups
	p.Absent, p.Unreal, p.Text = s.Absent.Position(), s.Unreal.Position(), s.Text.Position()
	p.AbsentText, p.UnrealText, p.Example, p.Texts, p.Forms, p.Counting = s.AbsentText, s.UnrealText, s.Example, s.Texts, s.Forms, s.Counting
	p.whole, p.many, p.different = s.Whole, s.Many, s.Different
	p.First, p.Last, p.Values = math.Float64frombits(s.First), math.Float64frombits(s.Last), s.Values
	for i, v := range s.Values {
		p.Kinds[v] = &Distinct{TextKind(s.Kinds[i]), s.Counts[i], s.Padded[i]}
	}
	return p
}
