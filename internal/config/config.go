// Package config is a training run's configuration: the keys of the command line and of its YAML file, their defaults by preset,
// and the refusal of what does not fit together.
//
// Keys is the one table of them; flags, files, help, defaults and checks are read off it.
package config

// Train holds every key of `ppal train`, resolved: what a run's config.yaml says. Names, values and units are those of the flags.
// Keys that the problem, model, regularizer or method does not have are zero.
type Train struct {
	Data
	Model
	Problem
	Method
	Run
	Device
}

// Data is where the rows come from.
type Data struct {
	Problem      string // mnpc, dp, eo, if
	Dataset      string
	DataDir      string
	RowsPerClass int    // 0: all
	Normalize    string // none, center, standardize

	// Of tables.
	File          string
	Label         string
	Group         []string // conditions on columns
	Categorical   []string
	Ignore        []string
	Missing       string // refuse, impute
	Separator     string // one character, tab, or auto
	DropSensitive bool
	Split         string // "70/15/15"
}

// Model is the shape of the scores.
type Model struct {
	Model      string // linear, mlp
	Hidden     []int
	Activation string // sigmoid, relu, tanh
	Heads      string // shared, separate
}

// Problem is the objective, the constraints and r.
type Problem struct {
	Classes           []int
	Kappa             []float64
	Phi               string // sigmoid, logistic, hinge
	Epsilon           []float64
	Psi               string // the constraints' surrogate: sigmoid, hinge
	EOForm            string // two, max
	IFForm            string // each, expectation, sampled
	Regularizer       string // none, ball, box, l1, l2, group-l1
	Theta             float64
	RegularizerWeight float64
	Box               []float64 // lower, upper
}

// Method is the method and its settings.
type Method struct {
	Method string
	Preset string // practical, paper

	Primal   string // nesterov, gradient, adam
	Momentum float64
	EtaScale string // weights, fixed
	Eta      string // auto, or a number

	Alpha      float64
	Beta       float64
	Tau        float64
	Delta      string // power, harmonic
	DeltaP     float64
	DeltaQ     float64
	Delta0     float64
	SlackCap   float64 // 0: none
	SlackStart string  // residual, zero
	XStep      string  // subgradient, proxlinear, split, inner:N
	MuStep     string  // analysed, box
	Sigma0     float64 // 0: none

	GDPAStep         string // a number, or auto (nesterov: no cap)
	GDPAStepDecay    string // cubic, constant
	GDPAPenalty      float64
	GDPAPerturbation float64
	GDPARatio        float64 // 0: none

	PenaltyCoefficient float64
	PenaltyGrowth      float64
	PenaltyPeriod      int

	GDADualStep float64

	ALMPenalty float64
	ALMInner   int

	SSGTolerance     float64
	SSGStep          string // a number, or auto
	SSGStepRule      string // decay, constant
	SSGViolationRule string // polyak, decay, constant
	SSGViolationStep float64

	IPPSSGTolerance float64
	IPPSSGBound     string // a number, or auto
	IPPSSGRho       string
	IPPSSGInner     int

	IPPConExT0      string
	IPPConExBound   string
	IPPConExRho     string
	IPPConExInner   int
	IPPConExRestart bool

	MultiplierModelStep        float64
	MultiplierModelNetworkStep float64
	MultiplierModelUnits       int
}

// Run is how long, how often and where to.
type Run struct {
	Iterations           int
	TimeLimit            string // a Go duration, or none
	Tolerance            float64
	BatchSize            int // 0: all rows
	Seed                 uint64
	Output               string // last, best, random
	FeasibilityTolerance float64
	Out                  string // "": runs/<time>-<problem>-<method>
	RecordEvery          int
	NearStationarity     int
	Init                 string // a safetensors file; "": from the seed
	LogFormat            string // text, json
	Explain              bool
	Quiet                bool
}

// Device is what computes.
type Device struct {
	Device     string // auto, cpu, cuda, cuda:N
	Engine     string // plan, gorgonia
	SIMD       string // auto, avx512, avx2, go
	Products   string // auto, float32, int8x3, int8x2, a GPU's tf32, bf16x3 and bf16x2
	MicroBatch int    // rows; 0: all
	Dtype      string // float32, float64
	Threads    int    // 0: all
}
