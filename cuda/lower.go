package cuda

import (
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// lower builds the passes of both halves. The forward half leaves f and g on the host; the backward
// half reads the coefficients there.
func (p *Program) lower() error {
	if err := p.forgetGraphs(); err != nil {
		return err
	}
	clear(p.centered)
	var err error
	if p.forward, err = p.parts(nil, p.plan.Forward, p.cuts.forward); err != nil {
		return err
	}
	x, d := &p.numbers, p.device
	if x.written == nil {
		last := &p.forward[len(p.forward)-1]
		last.passes = append(last.passes, pass{"f and g to the host", func() error {
			if err := p.set.Pack(&d.queue, x.results, x.packed, p.results()...); err != nil || !x.copied {
				return err
			}
			return d.driver.Download(d.stream, raw(x.values), x.results)
		}})
	}
	if p.backward, err = p.parts(p.plan.Forward, p.plan.Backward, p.cuts.backward); err != nil {
		return err
	}
	if first := &p.backward[0]; len(x.coefficients) > 0 {
		first.passes = slices.Insert(first.passes, 0, pass{"the coefficients from the host", func() error {
			if x.copied {
				if err := d.driver.Upload(d.stream, x.received, raw(x.coefficients)); err != nil {
					return err
				}
			}
			return p.set.Unpack(&d.queue, x.received, x.unpacked, p.coefficients()...)
		}})
	}
	return nil
}

// parts lowers regions, cut into parts before the regions with the given numbers.
func (p *Program) parts(before, regions []plan.Region, at []int) (list []half, err error) {
	from := 0
	for _, to := range append(slices.Clone(at), len(regions)) {
		h := half{graphs: map[driver.Pointer]*replay{}}
		if h.passes, err = p.half(slices.Concat(before, regions[:from]), regions[from:to]); err != nil {
			return nil, err
		}
		list, from = append(list, h), to
	}
	return list, nil
}

// half lowers regions, window by window if there are windows; the windows repeat the steps of
// earlier regions that they need.
func (p *Program) half(before, regions []plan.Region) ([]pass, error) {
	var passes []pass
	for i, r := range regions {
		windows := []window{{whole: true, first: true}}
		if r.Rows > 0 {
			windows = p.windows(r.Rows)
		}
		steps := r.Steps
		if len(windows) > 1 {
			steps = slices.Concat(p.repeated(slices.Concat(before, regions[:i]), r), r.Steps)
		}
		for _, w := range windows {
			l := &lowering{Program: p, steps: steps, window: w, done: make([]bool, len(steps)),
				quantizedBefore: map[*plan.Product]bool{}}
			if err := l.lower(); err != nil {
				return nil, err
			}
			passes = append(passes, l.passes...)
		}
	}
	return passes, nil
}

// lowering builds the passes of consecutive steps for one window of the rows.
type lowering struct {
	*Program
	steps  []plan.Step
	window window
	done   []bool // by step: an earlier step's pass computes the step
	passes []pass

	quantizedBefore map[*plan.Product]bool // an earlier pass quantizes the product's second factor
}

func (l *lowering) lower() error {
	for i, s := range l.steps {
		if l.done[i] {
			continue
		}
		if err := l.step(i, s); err != nil {
			return err
		}
	}
	return nil
}

// emit adds the pass of a step.
func (l *lowering) emit(s plan.Step, run func(q kernels.Queue) error) {
	l.passes = append(l.passes, pass{s.String(), func() error { return run(&l.device.queue) }})
}

// step lowers a step, and the later steps that the same kernel computes.
func (l *lowering) step(i int, s plan.Step) error {
	switch s := s.(type) {
	case *plan.Product:
		if l.rankOne(i, s) || l.outputScores(i, s) {
			return nil
		}
		for _, fused := range []func(int, *plan.Product) (bool, error){l.outputBackward, l.center} {
			if done, err := fused(i, s); done || err != nil {
				return err
			}
		}
		return l.product(i, s)
	case *plan.BiasActivation:
		l.biasActivation(i, s)
		return nil
	case *plan.ActivationGrad:
		return l.activationGrad(i, s)
	case *plan.Map:
		if !l.negatedRankOne(i, s) {
			l.mapping(s)
		}
		return nil
	case *plan.Copy:
		to, from := l.view(s.To), l.view(s.From)
		l.emit(s, func(q kernels.Queue) error { return l.set.Copy(q, to(), from()) })
		return nil
	case *plan.Sums:
		in, out := l.view(s.In), l.whole
		add := s.Over != plan.OverColumns && !l.window.first
		if s.Over == plan.OverColumns {
			to := l.view(s.Out)
			out = func(plan.View) kernels.Operand { return to() }
		}
		l.emit(s, func(q kernels.Queue) error { return l.set.Sums(q, s.Over, in(), out(s.Out), add) })
		return nil
	case *plan.MarginLoss, *plan.SignedLoss:
		return l.losses(s)
	case *plan.MarginLossGrad, *plan.SignedLossGrad:
		return l.lossGrad(s)
	case *plan.GroupMeans:
		return l.means(i, s)
	case *plan.GroupMeansGrad:
		return l.meansGrad(s)
	case *plan.PairMeans:
		return l.pairMeans(s)
	case *plan.PairMeansGrad:
		return l.pairMeansGrad(s)
	}
	if done, err := l.picture(i, s); done || err != nil {
		return err
	}
	return l.refuse(s)
}

// view returns the window's rows of a view when the pass runs, because gradients change their
// place.
func (l *lowering) view(v plan.View) func() kernels.Operand {
	return func() kernels.Operand { return l.rows(v, l.window) }
}

// mapping lowers an element-wise pass. The first run for each gradient vector uploads the program,
// if the pass has one.
func (l *lowering) mapping(s *plan.Map) {
	type prepared struct {
		m       *kernels.Map
		program driver.Pointer
	}
	moving := l.isGradient(s.Out) || slices.ContainsFunc(s.Args, l.isGradient)
	ready := map[driver.Pointer]prepared{}
	l.emit(s, func(q kernels.Queue) error {
		key := driver.Pointer(0)
		if moving {
			key = l.storage.gradient
		}
		r, ok := ready[key]
		if !ok {
			var err error
			args := make([]kernels.Operand, len(s.Args))
			for k, a := range s.Args {
				if args[k] = l.whole(a); a.Rows == s.Out.Rows {
					args[k] = l.rows(a, l.window)
				}
			}
			if r.m, err = kernels.NewMap(s.Expr, args, l.rows(s.Out, l.window)); err != nil {
				return err
			}
			if text := r.m.Program(); text != nil {
				if r.program, err = l.table("a program of "+s.Expr.String(), text); err != nil {
					return err
				}
			}
			ready[key] = r
		}
		return l.set.Map(q, r.m, r.program)
	})
}
