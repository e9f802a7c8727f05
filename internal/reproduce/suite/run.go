package suite

// The name and the title of the experiment.
const (
	Name  = "suite"
	Title = "ppal and other optimisers on a suite of problems"
)

// Options describes a comparison.
type Options struct {
	Threads int    // number of threads of every optimiser; 0: all cores
	DataDir string // directory of the data sets' files
}
