package kernels

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/trainer/graph/describe"
)

// Map is a prepared element-wise pass (plan.Map). Common expressions have their own kernels; other
// expressions become a program that a kernel interprets in float64.
type Map struct {
	program []byte
	args    []Operand
	out     Operand
	launch  func(s *Set, q Queue) error // nil: the program is interpreted
}

// NewMap prepares out[i,j] = e(args[0][i,j], ...). An operand with one row or one column is
// repeated if out has more. An operand may be out itself.
func NewMap(e *describe.Expr, args []Operand, out Operand) (*Map, error) {
	for k, a := range args {
		if (a.Rows != out.Rows && a.Rows != 1) || (a.Cols != out.Cols && a.Cols != 1) {
			return nil, fmt.Errorf("kernels: operand %d of %v is %d x %d, and the result %d x %d", k, e, a.Rows, a.Cols, out.Rows,
				out.Cols)
		}
	}
	m := &Map{args: args, out: out}
	m.launch = special(e, args, out)
	if m.launch == nil {
		m.program = encode(e, args, out)
	}
	return m, nil
}

// Program returns the bytes that the caller uploads before the launch, to an address that is a
// multiple of 8; nil if there are none.
func (m *Map) Program() []byte { return m.program }

// Map runs the pass. program is the address of the uploaded program.
func (s *Set) Map(q Queue, m *Map, program driver.Pointer) error {
	if m.out.Rows == 0 || m.out.Cols == 0 {
		return nil
	}
	if m.launch != nil {
		return m.launch(s, q)
	}
	c := &call{name: "interpret"}
	c.grid, c.block = tiles(m.out.Rows, m.out.Cols, 1)
	c.reading(program, len(m.program))
	for _, a := range m.args {
		c.reads = append(c.reads, s.span(a))
	}
	c.out(s, m.out)
	c.ints(m.out.Rows, m.out.Cols)
	return s.launch(q, c)
}

// special returns the launch of an expression with one operation on operands; nil for other
// expressions.
func special(e *describe.Expr, args []Operand, out Operand) func(s *Set, q Queue) error {
	a, b, op, ok := pair(e)
	if !ok {
		return nil
	}
	return func(s *Set, q Queue) error {
		x, y := args[a], Operand{}
		if b >= 0 {
			y = args[b]
		}
		return s.pair(q, op, x, y, out)
	}
}

// AddRow sets z = z + 1 b for a row b.
func (s *Set) AddRow(q Queue, z, bias Operand) error {
	if z.Rows == 0 || z.Cols == 0 {
		return nil
	}
	return s.pair(q, pairAdd, z, bias, z)
}

// pair runs one operation on x and y; y is not given for unary operations.
func (s *Set) pair(q Queue, op int, x, y, out Operand) error {
	c := &call{name: "pair"}
	c.grid, c.block = tiles(out.Rows, out.Cols, 4)
	c.ints(op)
	for _, o := range []Operand{x, y} {
		row, column := steps(o, out)
		c.reading(o.At, 0)
		if o.isSet() {
			c.reads[len(c.reads)-1] = s.span(o)
		}
		c.ints(row, column)
	}
	c.out(s, out)
	c.ints(out.Rows, out.Cols)
	return s.launch(q, c)
}

// The operations of the pair kernel.
const (
	pairAdd = iota
	pairSub
	pairMul
	pairNeg
	pairCopy
)

// pair recognises an expression with one operation on operands, and returns the indices of the
// operands; b is -1 for unary operations.
func pair(e *describe.Expr) (a, b, op int, ok bool) {
	switch {
	case e.Op == describe.Load:
		return e.Arg, -1, pairCopy, true
	case (e.Op == describe.Neg || e.Op == describe.Identity) && e.X.Op == describe.Load:
		if e.Op == describe.Neg {
			return e.X.Arg, -1, pairNeg, true
		}
		return e.X.Arg, -1, pairCopy, true
	case e.Y == nil || e.X.Op != describe.Load || e.Y.Op != describe.Load:
		return 0, 0, 0, false
	}
	i := slices.Index([]describe.Op{describe.Add, describe.Sub, describe.Mul}, e.Op)
	return e.X.Arg, e.Y.Arg, i, i >= 0
}

// steps returns the distances between rows and between columns of x in elements; 0 repeats x.
func steps(x, out Operand) (row, column int) {
	if x.Rows == out.Rows {
		row = x.Stride
	}
	if x.Cols == out.Cols {
		column = 1
	}
	return row, column
}

// encode writes a program: the numbers of instructions and operands; the address, row distance and
// column distance of each operand; and the instructions in postfix order, each as operation and
// operand in one number, and a constant. The deeper of two operands comes first, which keeps the
// stack short. An operation is a describe.Op, plus 64 if the operands are swapped.
func encode(e *describe.Expr, args []Operand, out Operand) []byte {
	var code []int64
	var emit func(e *describe.Expr)
	emit = func(e *describe.Expr) {
		op := int64(e.Op)
		if e.Y != nil {
			x, y := e.X, e.Y
			if depth(y) > depth(x) {
				x, y, op = y, x, op+swapped
			}
			emit(x)
			emit(y)
		} else if e.X != nil {
			emit(e.X)
		}
		code = append(code, op|int64(e.Arg)<<8, int64(math.Float64bits(e.Const)))
	}
	emit(e)
	t := newTable(16 + 24*len(args) + 8*len(code))
	t.put(0, int64(len(code)/2), int64(len(args)))
	for k, a := range args {
		row, column := steps(a, out)
		t.put(16+24*k, int64(a.At), int64(row), int64(column))
	}
	t.put(16+24*len(args), code...)
	return t.bytes
}

// swapped marks an operation whose second operand comes first.
const swapped = 64

// depth returns the stack height that an expression needs.
func depth(e *describe.Expr) int {
	switch {
	case e.Y != nil:
		x, y := depth(e.X), depth(e.Y)
		if x == y {
			return x + 1
		}
		return max(x, y)
	case e.X != nil:
		return depth(e.X)
	}
	return 1
}
