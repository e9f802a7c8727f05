package cuda

import (
	"errors"
	"fmt"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// entries holds the sparse forms of a data matrix for each window of the rows: X for X B, X^T for
// X^T D.
type entries struct {
	rows, transposed []kernels.Sparse
}

// loadData uploads the data, each matrix in the forms that steps read: entries, elements, or both.
func (p *Program) loadData() error {
	dense := p.readDensely()
	for i, b := range p.plan.Buffers {
		if b.Class != plan.Leaf {
			continue
		}
		if x, ok := p.plan.DataOf(i).(matrix.Sparse); ok && p.entriesRead(i) {
			if err := p.loadEntries(i, x); err != nil {
				return err
			}
			if !dense[i] {
				continue
			}
		}
		if p.readAsBytes(i) {
			if err := p.loadEightBit(i, p.plan.DataOf(i).(matrix.EightBit)); err != nil {
				return err
			}
			continue
		}
		if err := p.loadElements(i); err != nil {
			return err
		}
	}
	return nil
}

// readDensely returns the buffers that a step reads element by element.
func (p *Program) readDensely() map[int]bool {
	dense := map[int]bool{}
	for _, r := range p.regions() {
		for _, s := range r.Steps {
			product, ok := s.(*plan.Product)
			for _, o := range s.Reads() {
				if !ok || !product.Sparse || o.View != product.A || r.Rows == 0 {
					dense[o.Buffer] = true
				}
			}
		}
	}
	return dense
}

// entriesRead reports whether a step reads a data matrix by its entries.
func (p *Program) entriesRead(buffer int) bool {
	for _, r := range p.regions() {
		for _, s := range r.Steps {
			if product, ok := s.(*plan.Product); ok && product.Sparse && product.A.Buffer == buffer && r.Rows > 0 {
				return true
			}
		}
	}
	return false
}

// loadEntries uploads a sparse matrix window by window, plain and transposed.
func (p *Program) loadEntries(buffer int, x matrix.Sparse) error {
	rows, cols := x.Dims()
	starts, columns, values := x.Entries()
	if len(starts) != rows+1 {
		return fmt.Errorf("cuda: %s has %d rows and starts of %d", p.describe(buffer), rows, len(starts))
	}
	e := &entries{}
	for _, w := range p.windows(rows) {
		own := make([]int, 0, w.rows()+1)
		for _, at := range starts[w.from : w.to+1] {
			own = append(own, at-starts[w.from])
		}
		lo, hi := starts[w.from], starts[w.to]
		var v []float64
		if values != nil {
			v = values[lo:hi]
		}
		for _, k := range columns[lo:hi] {
			if k < 0 || int(k) >= cols {
				return fmt.Errorf("cuda: %s has an entry in column %d", p.describe(buffer), k)
			}
		}
		form, err := p.uploadSparse(buffer, cols, own, columns[lo:hi], v)
		if err != nil {
			return err
		}
		e.rows = append(e.rows, form)
		tstarts, trows, tvalues := kernels.Transpose(cols, own, columns[lo:hi], v)
		if form, err = p.uploadSparse(buffer, w.rows(), tstarts, trows, tvalues); err != nil {
			return err
		}
		e.transposed = append(e.transposed, form)
	}
	p.sparse[buffer] = e
	return nil
}

func (p *Program) uploadSparse(buffer, cols int, starts []int, columns []int32, values []float64) (s kernels.Sparse, err error) {
	s = kernels.Sparse{Rows: len(starts) - 1, Cols: cols, Entries: len(columns)}
	wide := make([]int64, len(starts))
	for i, at := range starts {
		wide[i] = int64(at)
		if i > 0 {
			s.Longest = max(s.Longest, at-starts[i-1])
		}
	}
	name := "entries of " + p.describe(buffer)
	if s.Starts, err = p.allocate(name, 8*len(wide)); err != nil {
		return s, err
	}
	if err = p.device.uploadBytes(s.Starts, raw(wide)); err != nil {
		return s, err
	}
	if s.Columns, err = p.allocate(name, 4*len(columns)); err != nil {
		return s, err
	}
	if err = p.device.uploadBytes(s.Columns, raw(columns)); err != nil || values == nil {
		return s, err
	}
	if s.Values, err = p.allocate(name, p.size*len(values)); err != nil {
		return s, err
	}
	return s, p.device.uploadNumbers(p.dtype, s.Values, values)
}

// loadElements uploads a leaf's data matrix, or else the value of the leaf's node, or else zeros.
func (p *Program) loadElements(buffer int) error {
	b := p.plan.Buffers[buffer]
	if err := p.hold(buffer, b.Len()); err != nil {
		return err
	}
	if data := p.plan.DataOf(buffer); data != nil {
		return p.loadMatrix(buffer, data)
	}
	if b.Node == nil || b.Node.Value() == nil {
		return p.device.driver.Clear(p.device.stream, p.storage.base[buffer], b.Len()*p.size)
	}
	return p.upload(buffer, b.Node.Value().Data())
}

// loadMatrix uploads a matrix to the elements of a leaf: 8-bit data as bytes, other rows widened.
func (p *Program) loadMatrix(buffer int, m matrix.Matrix) error {
	if bytes, ok := m.(matrix.EightBit); ok {
		return p.loadBytes(buffer, bytes)
	}
	return p.uploadMatrix(p.storage.base[buffer], m)
}

// uploadMatrix uploads the elements of a matrix.
func (p *Program) uploadMatrix(at driver.Pointer, m matrix.Matrix) error {
	rows, cols := m.Dims()
	return p.device.staging.upload(at, rows, cols*p.size, func(dst []byte, from, to int) {
		if p.dtype == kernels.Float32 {
			m.Float32(typed[float32](dst), from, to)
		} else {
			m.Float64(typed[float64](dst), from, to)
		}
	})
}

// loadBytes uploads 8-bit data and widens it on the device.
func (p *Program) loadBytes(buffer int, data matrix.EightBit) error {
	b := p.plan.Buffers[buffer]
	narrow, err := p.device.memory.allocate("bytes of "+p.describe(buffer), b.Len())
	if err != nil {
		return err
	}
	defer p.device.memory.release(narrow)
	if err := p.device.uploadRows(narrow, data, 0, b.Rows); err != nil {
		return err
	}
	to := kernels.Operand{At: p.storage.base[buffer], Rows: b.Rows, Cols: b.Cols, Stride: b.Cols}
	return p.set.Widen(&p.device.queue, to, narrow, data.ByteScale())
}

// upload copies all elements of a buffer to the device: a slice of the plan's type, or one number.
func (p *Program) upload(buffer int, data any) error {
	var contents []byte
	b := p.plan.Buffers[buffer]
	matches := true
	switch x := data.(type) {
	case float32:
		contents, matches = raw([]float32{x}), p.dtype == kernels.Float32
	case float64:
		contents, matches = raw([]float64{x}), p.dtype == kernels.Float64
	case []float32:
		contents, matches = raw(x), p.dtype == kernels.Float32
	case []float64:
		contents, matches = raw(x), p.dtype == kernels.Float64
	}
	if !matches || len(contents) != b.Len()*p.size {
		return fmt.Errorf("cuda: the value of %s is %T of %d bytes, want %d of the plan's type", p.describe(buffer), data, len(contents), b.Len()*p.size)
	}
	return p.device.uploadBytes(p.storage.base[buffer], contents)
}

// Bind copies a matrix of an input's shape to the input, from the next Forward on. Bytes cross the
// bus as bytes. Data that was sparse is dense from then on. The error wraps plan.ErrNotBytes if
// products read the input as 8-bit values and m is not 8-bit data of the same scale.
func (p *Program) Bind(v plan.View, m matrix.Matrix) error {
	if err := p.plan.CheckBind(v, m); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	delete(p.bindings, v.Buffer)
	if x := p.eight[v.Buffer]; x != nil {
		bytes, err := p.bytesFor(x, v.Buffer, m)
		if err != nil {
			return err
		}
		return p.loadRows(x, bytes)
	}
	if p.storage.base[v.Buffer] == 0 {
		if err := p.hold(v.Buffer, p.plan.Buffers[v.Buffer].Len()); err != nil {
			return err
		}
	}
	if err := p.loadMatrix(v.Buffer, m); err != nil || p.sparse[v.Buffer] == nil {
		return err
	}
	delete(p.sparse, v.Buffer) // the program keeps the memory until it is closed
	return p.lower()
}

// bytesFor returns the 8-bit data of a matrix for an input whose products read 8-bit values.
func (p *Program) bytesFor(x *eightBit, buffer int, m matrix.Matrix) (matrix.EightBit, error) {
	bytes, ok := m.(matrix.EightBit)
	if !ok || bytes.ByteScale() != x.scale {
		return nil, fmt.Errorf("cuda: %w %v: bind 8-bit rows of that scale to %s, or train with --products float32",
			plan.ErrNotBytes, x.scale, p.describe(buffer))
	}
	return bytes, nil
}

// Keep implements plan.Keeper: the rows stay in the device's memory, bytes as bytes, and a pass on
// the device makes them the input. It returns nil without memory for the rows, and for sparse rows.
func (p *Program) Keep(v plan.View, m matrix.Matrix) (use func(), err error) {
	if err := p.plan.CheckBind(v, m); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	x, b, d := p.eight[v.Buffer], p.plan.Buffers[v.Buffer], p.device
	bytes, narrow := m.(matrix.EightBit)
	if x != nil {
		if bytes, err = p.bytesFor(x, v.Buffer, m); err != nil {
			return nil, err
		}
	}
	if _, sparse := m.(matrix.Sparse); sparse || p.sparse[v.Buffer] != nil || p.storage.base[v.Buffer] == 0 && x == nil {
		return nil, nil
	}
	size := 1
	if !narrow {
		size = p.size
	}
	at, err := p.allocate("kept rows of "+p.describe(v.Buffer), b.Len()*size)
	if errors.Is(err, driver.ErrOutOfMemory) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	to := kernels.Operand{At: p.storage.base[v.Buffer], Rows: b.Rows, Cols: b.Cols, Stride: b.Cols}
	bind := func() error { return d.driver.Copy(d.stream, to.At, at, b.Len()*size) }
	if !narrow {
		return p.binding(v.Buffer, bind), p.uploadMatrix(at, m)
	}
	if bind = func() error { return p.set.Widen(&d.queue, to, at, bytes.ByteScale()) }; x != nil {
		bind = func() error {
			for _, w := range x.form.pieces() {
				if err := x.form.load(at.Offset(w.from*b.Cols), w.from, w.to); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return p.binding(v.Buffer, bind), d.uploadRows(at, bytes, 0, b.Rows)
}

// binding returns a function that makes the next Forward run bind first.
func (p *Program) binding(buffer int, bind func() error) func() {
	return func() { p.bindings[buffer] = bind }
}

// bindKept runs the bindings that wait for the forward half.
func (p *Program) bindKept() error {
	for buffer, bind := range p.bindings {
		delete(p.bindings, buffer)
		if err := bind(); err != nil {
			return err
		}
	}
	return nil
}
