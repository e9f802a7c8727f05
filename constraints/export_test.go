package constraints

// SmallestCell returns the number of training rows in the smallest cell of constraint j, 0 for the
// l1 norm.
func (s *System) SmallestCell(j int) int {
	least := 0
	for _, set := range s.measured[j].sets {
		for _, l := range set {
			if n := s.rows(l); least == 0 || n < least {
				least = n
			}
		}
	}
	return least
}
