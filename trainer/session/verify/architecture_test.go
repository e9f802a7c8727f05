package verify

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"ppal/internal/require"
	"ppal/models"
)

// quadratic is a model of a program's own, f = (x V)^2 U + x W + b, without a first layer.
type quadratic struct{ Rank, Inputs, Outputs int }

func (quadratic) Kind() string                  { return "quadratic" }
func (q quadratic) Dims() (inputs, outputs int) { return q.Inputs, q.Outputs }

func (q quadratic) Sized(inputs, outputs int) (models.Architecture, error) {
	return quadratic{q.Rank, inputs, outputs}, nil
}

func (q quadratic) Parameters() []models.Parameter {
	return []models.Parameter{
		{Name: "factors.weight", Shape: []int{q.Rank, q.Inputs}, FanIn: q.Inputs},
		{Name: "squares.weight", Shape: []int{q.Outputs, q.Rank}, FanIn: q.Rank},
		{Name: "linear.weight", Shape: []int{q.Outputs, q.Inputs}, FanIn: q.Inputs},
		{Name: "bias", Shape: []int{q.Outputs}, ScoreBias: true},
	}
}

func (q quadratic) Scores(x *gorgonia.Node, p gorgonia.Nodes) (*gorgonia.Node, error) {
	squares := gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Mul(x, p[0])))), p[1]))
	return models.AddBias(gorgonia.Must(gorgonia.Add(squares, gorgonia.Must(gorgonia.Mul(x, p[2])))), p[3])
}

func init() { models.Register[quadratic]("quadratic") }

// hosted is quadratic with loops of its own, for weights that differ by Off.
type hosted struct {
	quadratic
	Off float64
}

func (h hosted) Sized(inputs, outputs int) (models.Architecture, error) {
	return hosted{quadratic{h.Rank, inputs, outputs}, h.Off}, nil
}

func (h hosted) PredictRows(scores, rows []float64, weights models.Weights) {
	weights = weights.Clone()
	weights[2].Data[0] += h.Off
	own, err := models.Predict(h.quadratic, weights, rows)
	if err != nil {
		panic(err)
	}
	copy(scores, own)
}

// The device's scores of all rows must agree with loops on a sample. The report says how many rows
// the sample has, once, and nothing if the loops scored all rows.
func TestScoresAgreeWithLoops(t *testing.T) {
	for _, c := range []struct {
		rows       int
		off        float64
		says, fine string
	}{
		{200, 0, "", ""},
		{600, 0, "", "the scores by plain loops: 256 of 600 rows; the CPU device in float64: all"},
		{200, 1e-6, "on 200 rows, the scores of the CPU device differ", ""},
		{600, 1e-6, "on 256 rows, the scores of the CPU device differ", "the scores by plain loops: 256 of 600 rows; the CPU device in float64: all"},
	} {
		h := hosted{quadratic{2, 4, 2}, c.off}
		w := require.Value(models.Init(h, rand.New(rand.NewPCG(7, 0))))(t)
		x, report := rowsOf(c.rows, 2, false, 8).Features, &Report{}
		a := &architecture{Model: models.Model{Architecture: h, Weights: w}, report: report}
		scores := a.scores(x)
		if want, _ := models.Predict(h.quadratic, w, a.rows(x, 0, c.rows)); distance(scores, want) > 1e-12*norm(want) {
			t.Errorf("%+v: the scores are not those of the weights", c)
		}
		a.scores(x)
		if got := strings.Join(report.Skipped, "\n"); got != c.fine {
			t.Errorf("%+v: not checked: %q", c, got)
		}
		if got := strings.Join(report.Problems, "\n"); !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
			t.Errorf("%+v: problems %q", c, got)
		}
	}
}
