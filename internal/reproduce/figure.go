package reproduce

import (
	"errors"
	"fmt"
	"strings"

	"ppal/internal/compare"
	"ppal/internal/config"
)

// ErrUnknown reports an unknown name of an experiment. ErrUnavailable reports an experiment that
// cannot run yet.
var (
	ErrUnknown     = errors.New("no such experiment")
	ErrUnavailable = errors.New("not available yet")
)

// Figure is an experiment of the paper.
type Figure struct {
	Name   string // name on the command line
	Title  string
	Source string // section of the paper
	Reason string // reason why the experiment is not available; empty: the experiment is available

	base     config.Values // settings of all contenders
	full     config.Values // settings that --full changes
	measures []string
	overview []string // quantities of the overview plot; nil: the first ones
	// published and automatic are the contenders of the two comparisons; nil: no such comparison.
	published, automatic []compare.Contender
	budgets              [2]compare.Budget // one for each comparison
	// approximate number of records of a run; 0: the default of compare
	records int
	claims  []claim
}

// Options are the options of a reproduction.
type Options struct {
	Full    bool
	Seeds   int
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
	return append(list, intersectional(), neymanPearson("fashion-mnist"), neymanPearson("cifar10"), alphaSweep(), betaSweep(), duals(),
		Figure{Name: "ranking-mslr", Title: "ranking fairness on MSLR-WEB10K", Source: `"Additional Experiments"`,
			Reason: "ranking problems are not in this version"})
}

// Lookup returns the experiment with the given name, or ErrUnknown or ErrUnavailable.
func Lookup(name string) (Figure, error) {
	var names []string
	for _, f := range Figures() {
		if f.Name == name {
			if f.Reason != "" {
				return f, fmt.Errorf("reproduce: %s: %w: %s", name, ErrUnavailable, f.Reason)
			}
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Figure{}, fmt.Errorf("reproduce: %w: %q; choose one of %s", ErrUnknown, name, strings.Join(names, ", "))
}

// Studies returns the names and the studies of the figure's comparisons, in order.
func (f Figure) Studies(o Options) ([]string, []*compare.Study) {
	var names []string
	var studies []*compare.Study
	for i, contenders := range [][]compare.Contender{f.published, f.automatic} {
		if contenders == nil {
			continue
		}
		name := []string{published, automatic}[i]
		s := &compare.Study{Title: fmt.Sprintf("%s (%s steps)", f.Title, name), Budget: f.budgets[i], Measures: f.measures, Overview: f.overview, Records: f.records,
			Workers: o.Workers, Threads: 1}
		for k := range o.Seeds {
			s.Seeds = append(s.Seeds, uint64(k+1))
		}
		for _, c := range contenders {
			s.Contenders = append(s.Contenders, f.contender(c, o))
		}
		names, studies = append(names, name), append(studies, s)
	}
	return names, studies
}

// contender returns the contender with all settings. The contender's own settings override
// --full's, and --full's settings override the figure's.
func (f Figure) contender(c compare.Contender, o Options) compare.Contender {
	values := merged(f.base)
	if o.Full {
		values = merged(values, f.full)
	}
	values = merged(values, c.Values)
	if o.DataDir != "" {
		values["data-dir"] = o.DataDir
	}
	if o.Device != "" {
		values["device"] = o.Device
	}
	return compare.Contender{Name: c.Name, Values: values, Grid: c.Grid}
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
