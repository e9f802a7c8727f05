package problem

// Scratch allocates the vectors of one computation and frees all of them at the end.
type Scratch struct {
	space   *Space
	vectors []Vector
}

// NewScratch returns a Scratch without vectors.
func NewScratch(s *Space) *Scratch { return &Scratch{space: s} }

// New returns a vector that lasts until Free.
func (s *Scratch) New() Vector {
	v := s.space.New()
	s.vectors = append(s.vectors, v)
	return v
}

// Free frees all vectors.
func (s *Scratch) Free() {
	for _, v := range s.vectors {
		s.space.Free(v)
	}
	s.vectors = nil
}
