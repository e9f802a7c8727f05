package datasets

import "math"

// sentProfile is a profile on the way to other processes.
type sentProfile struct {
	Rows, Missing, Plain, Dotted, PointGroups int
	Absent, Unreal, Text                      *sentPosition
	AbsentText, UnrealText, Example           string
	Texts                                     [textKinds]int
	Forms                                     formSet
	Counting, Whole                           bool
	Different                                 int
	First, Last                               uint64 // the bits of the numbers
	Values                                    []string
	Kinds, Counts                             []int // of Values; bytes would be text
}

type sentPosition struct{ Line, Column int }

func send(at *FileError) *sentPosition {
	if at == nil {
		return nil
	}
	return &sentPosition{at.Line, at.Column}
}

func (p *sentPosition) position() *FileError {
	if p == nil {
		return nil
	}
	return &FileError{Offset: -1, Line: p.Line, Column: p.Column}
}

func (p *profile) send() sentProfile {
	s := sentProfile{
		Rows: p.rows, Missing: p.missing, Plain: p.plain, Dotted: p.dotted, PointGroups: p.pointGroups,
		Absent: send(p.absent), Unreal: send(p.unreal), Text: send(p.text),
		AbsentText: p.absentText, UnrealText: p.unrealText, Example: p.example, Texts: p.texts, Forms: p.forms, Counting: p.counting,
		Whole: p.whole, Different: p.different,
		First: math.Float64bits(p.first), Last: math.Float64bits(p.last), Values: p.values,
	}
	for _, v := range p.values {
		s.Kinds, s.Counts = append(s.Kinds, int(p.kinds[v].kind)), append(s.Counts, p.kinds[v].rows)
	}
	return s
}

func (s *sentProfile) profile(onlyCategories bool) *profile {
	p := newProfile(onlyCategories)
	p.rows, p.missing, p.plain, p.dotted, p.pointGroups = s.Rows, s.Missing, s.Plain, s.Dotted, s.PointGroups
	p.absent, p.unreal, p.text = s.Absent.position(), s.Unreal.position(), s.Text.position()
	p.absentText, p.unrealText, p.example, p.texts, p.forms, p.counting = s.AbsentText, s.UnrealText, s.Example, s.Texts, s.Forms, s.Counting
	p.whole, p.different = s.Whole, s.Different
	p.first, p.last, p.values = math.Float64frombits(s.First), math.Float64frombits(s.Last), s.Values
	for i, v := range s.Values {
		p.kinds[v] = &distinct{textKind(s.Kinds[i]), s.Counts[i]}
	}
	return p
}
