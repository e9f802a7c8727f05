package cpu

import "ppal/internal/plan"

// Ranks are the processes of a run, with the ranks 0, 1, ..., Size() - 1. All processes call Sum
// and SumFloat32 in the same order, with vectors of the same length. Each call replaces x by the
// sum of the x of all processes, added in the order of the ranks, and all get the same bits.
type Ranks interface {
	Rank() int
	Size() int
	Sum(x []float64) error
	SumFloat32(x []float32) error
}

// Among returns the device with the rows of the data divided among processes. Each process compiles
// the same plan with the same data, loads its own rows, and runs the regions over the data's rows
// for these rows alone. The sums over rows are added over the processes, share by share within a
// process and then in the order of the ranks. So every process has all results, with the same bits
// for the same number of processes. Rows of activations that a step reads as a whole are gathered
// first. A program's Forward, Backward and Contents return when all processes have called them.
func (d *Device) Among(r Ranks) *Device {
	own := *d
	own.ranks = r
	return &own
}

// rankUnit is the number of rows by which processes share rows. All blocks of rows, except blocks
// of pictures, and all panels of packed rows begin at a multiple of rankUnit in every process.
const rankUnit = columnUnit

// division says which rows of a plan this process has.
type division struct {
	ranks   Ranks
	rows    int // the rows of the data; 0: the plan is not divided
	lo, hi  int // this process has rows lo to hi-1
	buffers map[int]bool
}

// newDivision finds the rows that the device's processes share: the rows of the longest matrix of
// data.
func newDivision(d *Device, p *plan.Plan) division {
	v := division{ranks: d.ranks, buffers: map[int]bool{}}
	if d.ranks == nil {
		return v
	}
	for i, b := range p.Buffers {
		if b.Class == plan.Leaf && p.DataOf(i) != nil {
			v.rows = max(v.rows, b.Rows)
		}
	}
	v.lo, v.hi = OwnRows(v.rows, d.ranks.Rank(), d.ranks.Size())
	for _, half := range [][]plan.Region{p.Forward, p.Backward} {
		for _, r := range half {
			if !v.divides(p, r) {
				continue
			}
			for _, s := range r.Steps {
				for _, o := range s.Writes() {
					if o.Access == plan.ByRow && p.Buffers[o.Buffer].Class != plan.Local {
						v.buffers[o.Buffer] = true
					}
				}
			}
		}
	}
	return v
}

// OwnRows returns the range of the rows of a process: a share of the units of rankUnit rows.
func OwnRows(rows, rank, size int) (lo, hi int) {
	from, to := share((rows+rankUnit-1)/rankUnit, rank, size)
	return min(from*rankUnit, rows), min(to*rankUnit, rows)
}

// divides reports whether each process runs a region for its own rows: all regions over the data's
// rows, except a region that writes rows of a result.
func (v *division) divides(p *plan.Plan, r plan.Region) bool {
	if v.rows == 0 || r.Rows != v.rows {
		return false
	}
	for _, s := range r.Steps {
		for _, o := range s.Writes() {
			if o.Access == plan.ByRow && p.Buffers[o.Buffer].Class == plan.Gradient {
				return false
			}
		}
	}
	return true
}

// window returns the rows of a leaf that this process loads.
func (v *division) window(b plan.Buffer) (lo, hi int) {
	if v.rows > 0 && b.Rows == v.rows {
		return v.lo, v.hi
	}
	return 0, b.Rows
}

// gathers returns the divided buffers of which steps read more rows than a process has.
func (v *division) gathers(divided bool, steps []plan.Step) (list []int) {
	seen := map[int]bool{}
	for _, s := range steps {
		for _, o := range s.Reads() {
			if v.buffers[o.Buffer] && !seen[o.Buffer] && (!divided || o.Access != plan.ByRow) {
				seen[o.Buffer] = true
				list = append(list, o.Buffer)
			}
		}
	}
	return list
}

// gather gives every process all rows of a buffer.
func (e *executor[T]) gather(buffer int) error {
	b, data := e.plan.Buffers[buffer], e.Data[buffer]
	clear(data[:e.division.lo*b.Cols])
	clear(data[e.division.hi*b.Cols : b.Len()])
	return sumOver(e.division.ranks, data[:b.Len()])
}

// sumOver replaces x by its sum over the processes.
func sumOver[S plan.Float](r Ranks, x []S) error {
	if double, ok := any(x).([]float64); ok {
		return r.Sum(double)
	}
	return r.SumFloat32(any(x).([]float32))
}

// exchange adds the sums of the region's rows over the processes, after the last share. The first
// root then has the sums of all rows. One exchange takes all sums of a type.
func (r *region[T]) exchange() error {
	root, ranks := r.shares.roots[0], r.e.division.ranks
	r.message.doubles.list, r.message.singles.list = r.message.doubles.list[:0], r.message.singles.list[:0]
	for _, s := range r.sums {
		for _, right := range r.shares.roots[1:] {
			s.merge(root, right)
		}
		s.send(root, &r.message)
	}
	if err := r.message.doubles.sum(ranks.Sum); err != nil {
		return err
	}
	if err := r.message.singles.sum(ranks.SumFloat32); err != nil {
		return err
	}
	for _, s := range r.sums {
		s.settle(root)
	}
	return nil
}

// message holds the sums that go over processes.
type message struct {
	doubles vectorSums[float64]
	singles vectorSums[float32]
}

// vectorSums is a list of vectors that one call adds over the processes.
type vectorSums[S plan.Float] struct {
	list [][]S
	all  []S // the vectors, one after the other
}

func (t *vectorSums[S]) add(x []S) { t.list = append(t.list, x) }

// sum replaces each vector by its sum over the processes, with one call of add.
func (t *vectorSums[S]) sum(add func(x []S) error) error {
	switch len(t.list) {
	case 0:
		return nil
	case 1:
		return add(t.list[0])
	}
	t.all = t.all[:0]
	for _, x := range t.list {
		t.all = append(t.all, x...)
	}
	if err := add(t.all); err != nil {
		return err
	}
	all := t.all
	for _, x := range t.list {
		all = all[copy(x, all):]
	}
	return nil
}
