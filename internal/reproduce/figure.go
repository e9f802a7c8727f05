package reproduce

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppal/internal/config"
	"ppal/internal/study"
)

var (
	// ErrUnknown reports an unknown name of an experiment.
	ErrUnknown = errors.New("no such experiment")
	// ErrFull reports an experiment that has no larger form.
	ErrFull = errors.New("always uses all data: leave out --full")
)

// Figure is an experiment of the paper.
type Figure struct {
	Name   string // name on the command line
	Title  string
	Source string   // section of the paper
	Data   []string // sentences about the data: see On

	base     config.Values // settings of all contenders
	full     config.Values // settings on all data; nil: base has all data
	measures []string
	overview []string // quantities of the overview plot; nil: the first ones
	// published and automatic are the contenders of the two comparisons; nil: no such comparison.
	published, automatic []study.Contender
	budgets              [2]study.Budget // one for each comparison
	further              []comparison    // comparisons after these two
	// approximate number of records of a run; 0: the default of compare
	records int
	claims  []claim
	// onFiles sets what depends on the files in the data directory, and Data; nil: nothing does.
	onFiles func(f *Figure, dataDir string) error
}

// comparison is a comparison of a figure.
type comparison struct {
	name       string
	contenders []study.Contender
	budget     study.Budget
	once       bool // the seed changes nothing: one run of each contender
}

// Options are the options of a reproduction.
type Options struct {
	Seeds   []uint64
	DataDir string
	Workers int
	Device  string // the --device of ppal train; empty: auto
}

// The names of a figure's comparisons.
const (
	published = "published"
	automatic = "automatic"
)

// Figures returns all experiments in the order of the list.
func Figures() []Figure {
	var list []Figure
	for _, problem := range []string{"dp", "eo"} {
		for _, dataset := range []string{"adult", "bank", "compas"} {
			list = append(list, gaps(problem, dataset))
		}
	}
	return append(list, intersectional(), neymanPearson("fashion-mnist"), neymanPearson("cifar10"),
		rivals("fashion-mnist", "0.2", "perceptron", "4"), rivals("fashion-mnist", "0.2", "conv", "2"),
		rivals("cifar10", "0.6", "perceptron", "3"), rivals("cifar10", "0.6", "conv", "3"), alphaSweep(), betaSweep(), duals(), ranking())
}

// Lookup returns the experiment with the given name, or ErrUnknown.
func Lookup(name string) (Figure, error) {
	var names []string
	for _, f := range Figures() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Figure{}, fmt.Errorf("reproduce: %w: %q; choose one of %s", ErrUnknown, name, strings.Join(names, ", "))
}

// Full returns the figure with all data and the full width. Its name ends with fullSuffix. A figure
// that always has both gives ErrFull.
func (f Figure) Full() (Figure, error) {
	if f.full == nil {
		return Figure{}, fmt.Errorf("reproduce: %s: %w", f.Name, ErrFull)
	}
	f.Name, f.Title, f.base, f.full = f.Name+fullSuffix, f.Title+", all rows", merged(f.base, f.full), nil
	return f, nil
}

// command returns the command that runs the figure.
func (f Figure) command() string {
	if name, full := strings.CutSuffix(f.Name, fullSuffix); full {
		return "ppal reproduce " + name + " --full"
	}
	return "ppal reproduce " + f.Name
}

const fullSuffix = "-full"

// On returns the figure on the files in the data directory.
func (f Figure) On(dataDir string) (Figure, error) {
	if f.onFiles == nil {
		return f, nil
	}
	err := f.onFiles(&f, dataDir)
	return f, err
}

// Comparisons returns the names and the descriptions of the figure's comparisons, in order.
func (f Figure) Comparisons(o Options) ([]string, []*study.Comparison) {
	var names []string
	var comparisons []*study.Comparison
	first := []comparison{{published, f.published, f.budgets[0], false}, {automatic, f.automatic, f.budgets[1], false}}
	for _, c := range append(first, f.further...) {
		if c.contenders == nil {
			continue
		}
		s := &study.Comparison{Title: fmt.Sprintf("%s (%s)", f.Title, titleOf(c.name)), Budget: c.budget, Measures: f.measures, Overview: f.overview, Records: f.records,
			Workers: o.Workers, Threads: 1}
		if s.Seeds = slices.Clone(o.Seeds); c.once {
			s.Seeds = s.Seeds[:1]
		}
		for _, own := range c.contenders {
			s.Contenders = append(s.Contenders, f.contender(own, o))
		}
		names, comparisons = append(names, c.name), append(comparisons, s)
	}
	return names, comparisons
}

// titleOf returns the name of a comparison in titles and verdicts.
func titleOf(name string) string {
	switch name {
	case onMQ2008:
		return "linear scores on MQ2008"
	case published, automatic:
		return name + " steps"
	}
	return name
}

// contender returns the contender with all settings. The contender's own settings override the
// figure's.
func (f Figure) contender(c study.Contender, o Options) study.Contender {
	values := merged(f.base, c.Values)
	if o.DataDir != "" {
		values["data-dir"] = o.DataDir
	}
	if o.Device != "" {
		values["device"] = o.Device
	}
	return study.Contender{Name: c.Name, Values: values, Grid: c.Grid}
}

// merged merges settings. A later layer overrides earlier layers.
func merged(layers ...config.Values) config.Values {
	all := config.Values{}
	for _, layer := range layers {
		for k, v := range layer {
			all[k] = v
		}
	}
	return all
}

// points returns the points of a search over a single key.
func points(key string, values ...string) []config.Values {
	var list []config.Values
	for _, v := range values {
		list = append(list, config.Values{key: v})
	}
	return list
}

// grid returns all combinations of two searches.
func grid(a, b []config.Values) []config.Values {
	var list []config.Values
	for _, x := range a {
		for _, y := range b {
			list = append(list, merged(x, y))
		}
	}
	return list
}
