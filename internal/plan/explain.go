package plan

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"ppal/datasets/matrix"
)

// String returns a table of the buffers and, region by region, of the steps. A step's line has the
// formula over buffers, the shape of the result, the bytes read and written, the arithmetic, and
// the Gorgonia nodes that the step computes.
func (p *Plan) String() string {
	var b strings.Builder
	size := int64(p.Dtype.Size())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "buffer\tshape\tclass\tstorage\tname\n")
	for i, x := range p.Buffers {
		storage := "own"
		switch x.Class {
		case Kept, Temporary:
			storage = fmt.Sprintf("slot %d", x.Slot)
		case Local:
			storage = fmt.Sprintf("scratch %d", x.Slot)
		case Leaf:
			if m, ok := p.DataOf(i).(matrix.Sparse); ok {
				storage = fmt.Sprintf("%d entries, %s", entries(m), quantity(sparseBytes(m, size), "B"))
			}
		}
		name := x.Name
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(w, "b%d\t%dx%d\t%v\t%s\t%s\n", i, x.Rows, x.Cols, x.Class, storage, name)
	}
	w.Flush()
	halves := []struct {
		name    string
		regions []Region
	}{{"forward", p.Forward}, {"backward", p.Backward}}
	for _, half := range halves {
		for i, r := range half.regions {
			fmt.Fprintf(&b, "\n%s %d: ", half.name, i)
			if r.Rows > 0 {
				fmt.Fprintf(&b, "over %d rows, block by block\n", r.Rows)
			} else {
				fmt.Fprintf(&b, "whole\n")
			}
			w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
			for _, s := range r.Steps {
				out := s.Writes()[0]
				fmt.Fprintf(w, "  %v\t%dx%d\t%s\t%s\tnodes %v\n", s, out.Rows, out.Cols, quantity(p.bytes(s), "B"), quantity(s.FLOPs(), "FLOP"), s.Nodes())
			}
			w.Flush()
		}
	}
	fmt.Fprintf(&b, "\nstorage: %s in %d slots; a row of a block: %s in %d scratch slots\n",
		quantity(total64(p.Slots)*size, "B"), len(p.Slots), quantity(total64(p.Scratch)*size, "B"), len(p.Scratch))
	return b.String()
}

// OneCore returns the names of the ops that Gorgonia runs on one core, each once, in their order.
func (p *Plan) OneCore() (names []string) {
	for _, r := range slices.Concat(p.Forward, p.Backward) {
		for _, s := range r.Steps {
			if o, ok := s.(*Opaque); ok && !slices.Contains(names, o.Op.String()) {
				names = append(names, o.Op.String())
			}
		}
	}
	return names
}

func total64(sizes []int) (n int64) {
	for _, x := range sizes {
		n += int64(x)
	}
	return n
}

// quantity formats n with a decimal prefix.
func quantity(n int64, unit string) string {
	x := float64(n)
	for _, prefix := range []string{"", "k", "M", "G", "T"} {
		if x < 1000 || prefix == "T" {
			return fmt.Sprintf("%.4g %s%s", x, prefix, unit)
		}
		x /= 1000
	}
	panic("unreachable")
}
