package verify

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"ppal/constraints"
	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// weightsFile holds the weights of a file.
type weightsFile struct {
	in     *session.Inputs
	report *Report
	raw    models.Weights // for raw rows, with the threshold
	// normalized says that the file's numbers are rounded results of the normalization. folded says
	// the same of the normalization or a threshold.
	normalized, folded bool
	offsets            []float64 // what the exact step subtracted from each score; nil: nothing
	step               []float64 // what the exact step added to the weights; nil: nothing
}

// weights returns the weights in a file of the run.
func (c *check) weights(path string, offsets []float64) (*weightsFile, error) {
	in := c.in
	m, err := models.Load(bytes.NewReader(c.content[path]), in.Model)
	if err != nil {
		return nil, fmt.Errorf("verify: %s: %w", path, err)
	}
	f := &weightsFile{in: in, report: c.report, raw: m.Weights, normalized: len(in.Normalization.Center) > 0}
	f.folded = f.normalized
	if o := c.summary.Outcome; o != nil && (o.RankStep != nil || o.WeightStep != nil) && offsets != nil {
		n := 0
		for _, t := range f.raw {
			n += len(t.Data)
		}
		if f.step, f.folded = o.WeightStep, true; o.RankStep != nil {
			f.step = make([]float64, n)
			if i := o.RankStep.Weight; i >= 0 && i < n {
				f.step[i] = o.RankStep.Change
			} else {
				return nil, fmt.Errorf("verify: summary.json has a rank_step of weight %d, and the model has %d weights", i, n)
			}
		}
		if len(f.step) != n {
			return nil, fmt.Errorf("verify: summary.json has a weight_step of %d weights, and the model has %d", len(f.step), n)
		}
	}
	for _, b := range offsets {
		if b != 0 {
			f.offsets, f.folded = offsets, true
		}
	}
	return f, nil
}

// unit returns the rounding unit of the file's numbers.
func (f *weightsFile) unit() float64 {
	if f.in.Float32 {
		return 0x1p-24
	}
	return 0x1p-53
}

// as returns the model as trained. If decided is true, the scores contain the threshold. moved
// moves each number of the file by a random amount of at most two roundings; nil: not at all.
func (f *weightsFile) as(decided bool, moved *rand.Rand) model {
	own := f.raw.Clone()
	if moved != nil {
		for _, t := range own {
			for i := range t.Data {
				t.Data[i] += t.Data[i] * f.unit() * 2 * (2*moved.Float64() - 1)
			}
		}
	}
	at := 0
	for k, p := range f.in.Model.Parameters() {
		if p.FirstLayer {
			f.unfold(own[k], own[k+1])
		}
		if !p.ScoreBias {
			continue
		}
		for o := range own[k].Data {
			if f.offsets != nil && !decided {
				own[k].Data[o] = f.rounded(own[k].Data[o]+f.offsets[at], math.Abs(f.offsets[at]))
			}
			at++
		}
	}
	if f.step != nil && !decided {
		from := 0
		for _, t := range own {
			for i := range t.Data {
				t.Data[i] -= f.step[from+i]
			}
			from += len(t.Data)
		}
	}
	if m, ok := f.in.Model.(models.Scores); ok {
		return newNetwork(m.Spec, own, f.in.Center)
	}
	if spec, ok := f.in.Model.(models.Spec); ok {
		return newNetwork(spec, own, f.in.Center)
	}
	return &architecture{Model: models.Model{Architecture: f.in.Model, Weights: own}, center: f.in.Center, report: f.report}
}

// unfold inverts the folding of the normalization x -> (x - c)/s: b = b' + W' c and W = s W'.
func (f *weightsFile) unfold(weight, bias models.Tensor) {
	n := f.in.Normalization
	if len(n.Center) == 0 {
		return
	}
	s := 1.0
	if n.Kind == models.NormalizeStandardize {
		s = n.Deviation
	}
	cols := len(n.Center)
	for o := range bias.Data {
		row := weight.Data[o*cols : (o+1)*cols]
		sum, size := bias.Data[o], math.Abs(bias.Data[o])
		for j, c := range n.Center {
			sum += row[j] * c
			size += math.Abs(row[j] * c)
			row[j] *= s
		}
		bias.Data[o] = f.rounded(sum, size)
	}
}

// rounded returns a sum of numbers whose absolute values add up to size: 0 if the sum is 0 within
// the rounding and the regularizer has a kink there.
func (f *weightsFile) rounded(sum, size float64) float64 {
	if kinks := f.in.Regularizer.L1Ball != nil || f.in.Regularizer.Kind == problem.L1 || f.in.Regularizer.Kind == problem.GroupL1; kinks && math.Abs(sum) <= 8*f.unit()*size {
		return 0
	}
	return sum
}

// l1 returns the sum of the absolute values of the weights without the biases.
func l1(a models.Architecture, m model) float64 {
	sum := 0.0
	eachWeight(a, m, func(_ int, w float64) { sum += math.Abs(w) })
	return sum
}

// addL1 adds b times the gradient of l1 to sum.
func addL1(sum []float64, b float64, a models.Architecture, m model) {
	eachWeight(a, m, func(i int, w float64) {
		switch {
		case w > 0:
			sum[i] += b
		case w < 0:
			sum[i] -= b
		}
	})
}

// eachWeight calls visit with each weight that is not a bias, and its index among all weights.
func eachWeight(a models.Architecture, m model, visit func(i int, w float64)) {
	from, x, ends := 0, m.flat(), m.ends()
	for k, p := range a.Parameters() {
		for i := from; i < ends[k]; i++ {
			if len(p.Shape) > 1 {
				visit(i, x[i])
			}
		}
		from = ends[k]
	}
}

// mass adds up rows: their number, their weights, the squares of the weights, and the largest
// weight. Without weights, a row has the weight 1.
type mass struct {
	rows                     int
	weight, squares, largest float64
}

func (m *mass) add(weight float64) {
	m.rows++
	m.weight, m.squares, m.largest = m.weight+weight, m.squares+weight*weight, max(m.largest, weight)
}

// plus adds up the rows of both.
func (m mass) plus(o mass) mass {
	return mass{m.rows + o.rows, m.weight + o.weight, m.squares + o.squares, max(m.largest, o.largest)}
}

// effective returns Kish's effective number of rows, (sum of w)^2 / (sum of w^2).
func (m mass) effective() float64 {
	if m.rows == 0 {
		return 0
	}
	return min(m.weight*m.weight/m.squares, float64(m.rows))
}

// size returns the effective number of rows as "min" counts it.
func (m mass) size() int { return int(m.effective() * (1 + 1e-12)) }

// heaviest returns the share of the heaviest row.
func (m mass) heaviest() float64 { return 1 / (m.weight / m.largest) }

// weightOf returns the weight of a row.
func weightOf(p *constraints.Population, i int) float64 {
	if p.Weights == nil {
		return 1
	}
	return p.Weights[i]
}
