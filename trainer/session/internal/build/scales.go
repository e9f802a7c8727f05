package build

import (
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"ppal/datasets/matrix"
	"ppal/internal/relay"
	"ppal/models"
	"ppal/trainer/problem"
)

const (
	mostScales     = 1 << 16 // weights of a model with scales, because the host multiplies by the scales
	mostWhitened   = 256     // features of a model with whitened scales, with the bias
	mostProducts   = 1 << 22 // squared features times units of a network with scales: there, a step costs the host 2.3 ms
	leastRows      = 20      // for each feature, for whitened scales: the second moments of fewer rows are too uncertain
	momentsRows    = 100     // for each feature: enough for the second moments
	momentsWork    = 1 << 28 // rows times squared features: above it, fewer than momentsRows count, but at least leastRows
	whiteningRidge = 3e-3    // of the mean second moment, added to all
	networkRidge   = 10      // the same for the first layer of a network
	mostCurvature  = 0.25    // of a logistic loss or a sigmoid of the score, about
	leastMoment    = 0.01    // without whitening, of the largest second moment: smaller ones count as this share
	momentsBlock   = 1 << 16 // numbers that are read at a time
)

// HasScales reports whether quasi-Newton steps of the model may use scales (problem.Scaled): with
// the regularizer none or l2, and with few enough weights. A network also needs shared heads,
// smooth units, and few enough features and units for whitened scales.
func (b *Builder) HasScales() bool {
	kind := b.Regularizer.Kind
	if kind != problem.NoRegularizer && kind != problem.SquaredL2 || b.Parameters() > mostScales {
		return false
	}
	if models.IsLinear(b.Model) {
		return true
	}
	k, known := b.Model.(models.Kinked)
	n, units := b.Inputs()+1, models.FirstUnits(b.Model)
	return known && !k.Kinks() && models.BeginsWithLayer(b.Model) && n <= mostWhitened && n*n*units <= mostProducts
}

// SetScales sets the scales of the weights from second moments over the training rows with the
// given labels. All processes must call it, because it sums over them.
//
// The second derivative of a loss of the scores x^T z is the mean of the loss's curvature times z
// z^T, with the features z of a row, the last of which is 1 for the bias. The second
// derivative is therefore about a multiple of the matrix G = E[z z^T]. Whitened scales make it
// about a multiple of I. Many objectives and
// constraints are means over the rows of one class, so each class has the same weight in G. The
// second derivative of r = (w/2)||x||^2 is w I, which counts as 4 w I beside G, because the
// curvature of the losses is about 1/4 at most.
//
// The first layer of a network is whitened by I + G/c. c is ten times the mean of G's diagonal,
// plus 4 w for l2. Steps become shorter only along directions v in which E[(v^T z)^2] is far above
// its mean over the features. With a small c, f falls much faster, but new rows have larger errors
// (docs/reference/steps.md). The other layers keep T = I.
//
// Linear models with many features, or with few rows for each feature, have the scales s_j =
// E[z_j^2]^(-1/4) instead. The full scale of a diagonal G would be s_j = E[z_j^2]^(-1/2). With half
// the exponent, runs need about as many evaluations, and bounds on decisions end with a smaller
// objective (docs/reference/steps.md). Networks keep T = I there.
func (b *Builder) SetScales(data matrix.Matrix, labels []int) error {
	if whitened, err := b.whiten(data, labels); err != nil || whitened || !models.IsLinear(b.Model) {
		return err
	}
	return b.stretch(data)
}

// whiten sets the whitened scales of the linear model or of the first layer. It returns false if
// the features are too many, the rows too few, or the moments not finite.
func (b *Builder) whiten(data matrix.Matrix, labels []int) (bool, error) {
	n, columns, ridge := b.Inputs()+1, b.Outputs(), whiteningRidge
	if !models.IsLinear(b.Model) {
		columns, ridge = models.FirstUnits(b.Model), networkRidge
	}
	if n > mostWhitened || len(labels) < leastRows*n {
		return false, nil
	}
	g := mat.NewSymDense(n, nil)
	if err := b.moments(g, data, labels, momentsStride(len(labels), n)); err != nil {
		return false, err
	}
	ridge *= mat.Trace(g) / float64(n)
	if r := b.Regularizer; r.Kind == problem.SquaredL2 {
		ridge += r.Weight / mostCurvature
	}
	for i := range n {
		g.SetSym(i, i, g.At(i, i)+ridge)
	}
	if !models.IsLinear(b.Model) { // the first layer keeps its proportion to the others
		g.ScaleSym(1/ridge, g)
	}
	return b.Scales.Whiten(g, columns), nil
}

// stretch sets the scales s_j.
func (b *Builder) stretch(data matrix.Matrix) error {
	rows, _ := data.Dims()
	from, to := b.Devices.Share(rows)
	sums := b.squares(data, from, to)
	if err := b.Devices.Team.Sum(sums); err != nil {
		return err
	}
	least := leastMoment * slices.Max(sums) / float64(rows)
	if !(least > 0) || math.IsInf(least, 1) {
		return nil
	}
	diagonal := make([]float64, 0, b.Scales.Len()) // the graph has the weights feature by feature, and then the biases
	for _, sum := range append(sums, float64(rows)) {
		s := math.Pow(max(sum/float64(rows), least), -0.25)
		diagonal = append(diagonal, slices.Repeat([]float64{s}, b.Outputs())...)
	}
	b.Scales.Stretch(diagonal)
	return nil
}

// momentsStride returns k: the second moments of n features are over every k-th of the rows. k is
// odd, so that both classes count if the rows of two classes alternate.
func momentsStride(rows, n int) int {
	enough := max(leastRows*n, min(momentsRows*n, momentsWork/(n*n)))
	return max(0, rows/enough-1) | 1
}

// moments sets dst to E[z z^T] over every stride-th training row, with a last feature of 1. Each
// class has the same weight: the weight of a row is 1 over the number of these rows of its class.
func (b *Builder) moments(dst *mat.SymDense, data matrix.Matrix, labels []int, stride int) error {
	from, to := b.Devices.Share(len(labels))
	least := slices.Min(labels)
	weights := make([]float64, slices.Max(labels)-least+1) // of a row of each class: 1 over the number of its rows
	for i := 0; i < len(labels); i += stride {
		weights[labels[i]-least]++
	}
	for k, n := range weights {
		weights[k] = 1 / n
	}
	sums, n := dst.RawSymmetric().Data, dst.SymmetricDim() // the upper triangle, row by row
	z, entries := make([]float64, n), make([]int, 0, n)
	z[n-1] = 1
	add := func(i int) { // z has the features of row i, which are 0 outside entries
		weight := weights[labels[i]-least]
		for k, j := range entries {
			to := sums[j*n : (j+1)*n]
			if len(entries) > n/4 {
				floats.AddScaled(to[j:], weight*z[j], z[j:])
				continue
			}
			for _, l := range entries[k:] { // adding zeros changes nothing
				to[l] += weight * z[j] * z[l]
			}
		}
	}
	if s, ok := data.(matrix.Sparse); ok && b.Center == nil && b.Scale == nil {
		starts, columns, values := s.Entries()
		if values == nil {
			pairSums(sums, n, from, to, stride, starts, columns, func(i int) float64 { return weights[labels[i]-least] })
			to = from // no row is left
		}
		for i := from; i < to; i += stride {
			entries = entries[:0]
			for k := starts[i]; k < starts[i+1]; k++ {
				z[columns[k]], entries = float64(values[k]), append(entries, int(columns[k]))
			}
			entries = append(entries, n-1)
			add(i)
			for _, j := range entries[:len(entries)-1] {
				z[j] = 0
			}
		}
	} else {
		b.eachRow(data, from, to, stride, func(i int, row []float64) {
			copy(z, row)
			entries = entries[:0]
			for j, v := range z {
				if v != 0 {
					entries = append(entries, j)
				}
			}
			add(i)
		})
	}
	if err := b.Devices.Team.Sum(sums); err != nil {
		return err
	}
	floats.Scale(1/sums[n*n-1], sums) // the last sum is that of the weights
	return nil
}

// pairSums adds the weights of the rows to the upper triangle of sums, n x n, for all pairs of a
// row's columns, the last of which is n-1. Each core has lines of sums, so that every sum has the
// order of the rows.
func pairSums(sums []float64, n, from, to, stride int, starts []int, columns []int32, weightOf func(i int) float64) {
	cores := runtime.GOMAXPROCS(0)
	bound := func(core int) int { return n - int(float64(n)*math.Sqrt(1-float64(core)/float64(cores))) } // of equal areas
	var running []func() error
	for core := range cores {
		first, end := int32(bound(core)), int32(bound(core+1))
		running = append(running, relay.Go(func() error {
			for i := from; i < to; i += stride {
				weight, own := weightOf(i), columns[starts[i]:starts[i+1]]
				for k, j := range own {
					if j < first || j >= end {
						continue
					}
					to := sums[int(j)*n:][:n]
					for _, l := range own[k:] {
						to[l] += weight
					}
					to[n-1] += weight
				}
				if int(end) == n {
					sums[n*n-1] += weight
				}
			}
			return nil
		}))
	}
	for _, wait := range running {
		_ = wait() // panics if the goroutine did
	}
}

// squares returns the sums of the squares of the features over rows [from, to), as the model sees
// the features.
func (b *Builder) squares(data matrix.Matrix, from, to int) []float64 {
	_, cols := data.Dims()
	sums := make([]float64, cols)
	if p, ok := data.(*matrix.Part); ok {
		data, from, to = p.Own, from-p.From, to-p.From
	}
	if s, ok := data.(matrix.Sparse); ok && b.Center == nil && b.Scale == nil {
		starts, columns, values := s.Entries()
		for k := starts[from]; k < starts[to]; k++ {
			v := 1.0
			if values != nil {
				v = float64(values[k])
			}
			sums[columns[k]] += v * v
		}
		return sums
	}
	b.eachRow(data, from, to, 1, func(_ int, row []float64) {
		for j, v := range row {
			sums[j] += v * v
		}
	})
	return sums
}

// eachRow calls visit with the numbers and the features of the rows of [from, to) whose numbers are
// multiples of stride, as the model sees them. The features are valid until the next call. Rows are
// read as a list, because each scattered row may load whole pages of a file (matrix.Gatherer).
func (b *Builder) eachRow(data matrix.Matrix, from, to, stride int, visit func(i int, row []float64)) {
	_, cols := data.Dims()
	before := 0 // rows of other processes
	if p, ok := data.(*matrix.Part); ok {
		data, before = p.Own, p.From
	}
	block := max(1, momentsBlock/cols)
	buffer, list := make([]float64, block*cols), make([]int, 0, block)
	for i := (from + stride - 1) / stride * stride; i < to; i += len(list) * stride {
		list = list[:0]
		for k := i; k < to && len(list) < block; k += stride {
			list = append(list, k-before)
		}
		matrix.Pick(data, list).Float64(buffer[:len(list)*cols], 0, len(list))
		for r := range list {
			row := buffer[r*cols : (r+1)*cols]
			for j, c := range b.Center {
				row[j] -= c
			}
			for j, s := range b.Scale {
				row[j] *= s
			}
			visit(i+r*stride, row)
		}
	}
}
