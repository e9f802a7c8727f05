package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Panels that are packed in shares, from a matrix or from its transpose, equal the panels of Pack.
func TestPackPanels(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		r := rand.New(rand.NewPCG(1, 2))
		for _, s := range shapes() {
			rows, cols, ld := s.d, s.h, max(s.d, s.h)+3
			b, trans := make([]float32, ld*ld), make([]float32, ld*ld)
			for i := range ld {
				for j := range ld {
					b[i*ld+j] = r.Float32()
					trans[j*ld+i] = b[i*ld+j]
				}
			}
			want := k.NewPanels(rows, cols)
			want.Pack(rows, cols, b, ld)
			for _, c := range []struct {
				trans  bool
				source []float32
			}{{false, b}, {true, trans}} {
				p := k.NewPanels(rows, cols)
				for i := range p.data {
					p.data[i] = canary
				}
				p.Resize(rows, cols)
				half := p.Count() / 2
				p.PackPanels(half, p.Count(), c.source, ld, c.trans)
				p.PackPanels(0, half, c.source, ld, c.trans)
				if !slices.Equal(p.data, want.data) {
					t.Fatalf("%v, transposed %v: the panels differ", s, c.trans)
				}
			}
		}
	})
}
