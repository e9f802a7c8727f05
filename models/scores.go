package models

// KindScores is the kind of Scores.
const KindScores = "scores"

// Thresholds says for which rows a model of scores has thresholds of their own.
type Thresholds string

// The thresholds. The empty string means OneThreshold.
const (
	OneThreshold Thresholds = "one"      // the same for all rows
	ByGroup      Thresholds = "by-group" // one for each value of the column that the bounds compare
)

// Scores is a model whose scores another program has computed: columns of the rows. Its only
// parameters are thresholds. It is a linear model with the weight 1 from the column of a score to
// the score, the bias -t, and, with thresholds by group, the weights t - t_g of the indicators of
// the groups g. With two classes there is one score, that of the second class; with more there is
// one for each class.
type Scores struct {
	Spec
	Columns    []string   `json:"scores"` // the columns of the scores, in the order of the classes
	Thresholds Thresholds `json:"thresholds"`
}

// Kind implements Architecture.
func (s Scores) Kind() string { return KindScores }

// Sized implements Architecture.
func (s Scores) Sized(inputs, outputs int) (Architecture, error) {
	s.Spec = Spec{Inputs: inputs, Outputs: outputs}.WithDefaults()
	if s.Thresholds == "" {
		s.Thresholds = OneThreshold
	}
	return s, s.Validate()
}
