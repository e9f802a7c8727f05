package constraints

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/trainer/graph/describe"
)

// Softmax adds the probabilities P [n, C] of the classes to the graph of the scores S [n, C],
//
//	P_ic = e^(S_ic - m_i) / sum_j e^(S_ij - m_i),   m_i = max_j S_ij.
//
// No exponential overflows. The derivative is dS = P o (dP - rowsums(P o dP)), with o the
// element-wise product. All steps have device kernels.
func Softmax(scores *gorgonia.Node) (*gorgonia.Node, error) {
	_, e, z, err := exponentials(scores)
	if err != nil {
		return nil, err
	}
	return apply(newRowOp("Softmax", []int{2, 2, 1}, []bool{true, false, false}, divided, softmaxDiff), scores, e, z)
}

// CrossEntropy adds the losses [n] of the scores S [n, C] for rows of the given classes,
//
//	l_i = log sum_j e^(S_ij - m_i) + m_i - S_i,labels[i],   m_i = max_j S_ij.
func CrossEntropy(scores *gorgonia.Node, labels []int) (*gorgonia.Node, error) {
	if scores.Dims() != 2 || scores.Shape()[0] != len(labels) {
		return nil, fmt.Errorf("constraints: scores of shape %v for %d rows", scores.Shape(), len(labels))
	}
	c := scores.Shape()[1]
	own := make([]float64, len(labels)*c)
	for i, y := range labels {
		if y < 0 || y >= c {
			return nil, fmt.Errorf("constraints: row %d has label %d, want 0..%d", i, y, c-1)
		}
		own[i*c+y] = 1
	}
	m, _, z, err := exponentials(scores)
	if err != nil {
		return nil, err
	}
	ones := constantMatrix(scores, "own classes", own, len(labels), c)
	product, err := gorgonia.HadamardProd(scores, ones)
	if err != nil {
		return nil, fmt.Errorf("constraints: the scores of the own classes: %w", err)
	}
	score, err := gorgonia.Sum(product, 1)
	if err != nil {
		return nil, fmt.Errorf("constraints: the scores of the own classes: %w", err)
	}
	return apply(newRowOp("CrossEntropy", []int{1, 2, 1}, []bool{true, false, true}, entropy, entropyDiff), z, m, score)
}

// exponentials returns m [n, 1], the largest score of each row, E = e^(S - m) [n, C] and the row
// sums of E [n]. The derivative treats m as a constant: a common shift of a row's scores changes
// neither the probabilities nor the loss.
func exponentials(scores *gorgonia.Node) (m, e, z *gorgonia.Node, err error) {
	if scores.Dims() != 2 || scores.Shape()[1] < 2 {
		return nil, nil, nil, fmt.Errorf("constraints: scores of shape %v, want [n, C] with at least 2 classes", scores.Shape())
	}
	c := scores.Shape()[1]
	columns := make(gorgonia.Nodes, c)
	var dims []int
	for j := range columns {
		if columns[j], err = apply(newClassColumn(j), scores); err != nil {
			return nil, nil, nil, err
		}
		dims = append(dims, 2)
	}
	if m, err = apply(newRowOp("RowMaximum", dims, make([]bool, c), maximum, nil), columns...); err != nil {
		return nil, nil, nil, err
	}
	exp := newRowOp("ShiftedExp", []int{2, 2}, []bool{true, false}, shiftedExp, shiftedExpDiff)
	if e, err = apply(exp, scores, m); err != nil {
		return nil, nil, nil, err
	}
	if z, err = gorgonia.Sum(e, 1); err != nil {
		return nil, nil, nil, fmt.Errorf("constraints: the sums of the exponentials: %w", err)
	}
	return m, e, z, nil
}

func combine(op describe.Op, x, y *describe.Expr) *describe.Expr {
	return &describe.Expr{Op: op, X: x, Y: y}
}

// maximum returns the largest input, computed as max(a, b) = a + relu(b - a).
func maximum(in []*describe.Expr) *describe.Expr {
	rest := in[len(in)-1]
	for j := len(in) - 2; j >= 0; j-- {
		rest = combine(describe.Add, in[j], &describe.Expr{Op: describe.ReLU, X: combine(describe.Sub, rest, in[j])})
	}
	return rest
}

// The functions below return the expressions of the other ops.
func shiftedExp(in []*describe.Expr) *describe.Expr {
	return &describe.Expr{Op: describe.Exp, X: combine(describe.Sub, in[0], in[1])}
}
func divided(in []*describe.Expr) *describe.Expr { return combine(describe.Div, in[1], in[2]) }
func product(in []*describe.Expr) *describe.Expr { return combine(describe.Mul, in[0], in[1]) }
func entropy(in []*describe.Expr) *describe.Expr {
	return combine(describe.Add, &describe.Expr{Op: describe.Ln, X: in[0]}, combine(describe.Sub, in[1], in[2]))
}
func quotient(in []*describe.Expr) *describe.Expr { return combine(describe.Div, in[0], in[1]) }
func negated(in []*describe.Expr) *describe.Expr  { return &describe.Expr{Op: describe.Neg, X: in[0]} }
func softmaxGrad(in []*describe.Expr) *describe.Expr {
	return combine(describe.Mul, in[0], combine(describe.Sub, in[1], in[2]))
}

// shiftedExpDiff returns dS = E o dE.
func shiftedExpDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := apply(newRowOp("ShiftedExpGrad", []int{2, 2}, []bool{true, true}, product, nil), out, grad)
	return gorgonia.Nodes{d, nil}, err
}

// softmaxDiff returns dS = P o (dP - rowsums(P o dP)).
func softmaxDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	weighted, err := gorgonia.HadamardProd(out, grad)
	if err != nil {
		return nil, err
	}
	sums, err := gorgonia.Sum(weighted, 1)
	if err != nil {
		return nil, err
	}
	d, err := apply(newRowOp("SoftmaxGrad", []int{2, 2, 1}, []bool{true, true, true}, softmaxGrad, nil), out, grad, sums)
	return gorgonia.Nodes{d, nil, nil}, err
}

// entropyDiff returns dz = dl / z, and -dl, the derivative with respect to the scores of the rows'
// own classes.
func entropyDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	z, err := apply(newRowOp("CrossEntropyGradSum", []int{1, 1}, []bool{true, true}, quotient, nil), grad, in[0])
	if err != nil {
		return nil, err
	}
	own, err := apply(newRowOp("CrossEntropyGradOwn", []int{1}, []bool{true}, negated, nil), grad)
	return gorgonia.Nodes{z, nil, own}, err
}
