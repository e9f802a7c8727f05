package config

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session"
)

// threadsPerCore and leastThreads bound --threads. More threads than cores only use more memory,
// but a run accepts the config.yaml of a run on a machine with more cores.
const (
	threadsPerCore = 8
	leastThreads   = 256
)

// refusal returns the error for a setting, given the setting's name.
type refusal func(name, format string, args ...any) error

// consistent refuses values that are valid alone and do not fit together.
func (r *resolver) consistent() error {
	refuse := func(name, format string, args ...any) error {
		s, explicit := r.given[name]
		if !explicit {
			s = setting{r.text(name), place{name: name}}
		}
		return s.refuse(format, args...)
	}
	t := r.train
	if t.Table.Columns != nil && t.Table.Header == tabular.HeaderFirst {
		return refuse("columns", "names the columns of a file without a line of names; to replace the names of the first line, give --skip 1 and no --header")
	}
	for _, check := range []func(refusal) error{t.consistentProblem, t.consistentMethod, t.consistentDevice} {
		if err := check(refuse); err != nil {
			return err
		}
	}
	if err := session.CheckTask(t.Task); err != nil {
		return r.placed(err)
	}
	for _, o := range r.method {
		if t.Options[o.Name] == "" {
			continue
		}
		if conflict := o.Conflict(); conflict != "" {
			return refuse(o.Name, "%s", conflict)
		}
	}
	return nil
}

// consistentProblem refuses settings that do not fit the problem.
func (t *Train) consistentProblem(refuse refusal) error {
	d, err := datasets.Lookup(t.Dataset)
	if err != nil {
		return err
	}
	task, err := session.LookupTask(t.Data.Problem)
	if err != nil {
		return err
	}
	switch {
	case !task.Rows.Accepts(d):
		holds := "pictures"
		if d.Tabular() {
			holds = "a table"
		}
		var others []string
		for _, other := range session.Tasks() {
			if other.Rows.Accepts(d) {
				others = append(others, other.Name)
			}
		}
		return refuse("dataset", "holds %s; --problem %s needs %v; choose --problem %s", holds, task.Name, task.Rows, option.List(others, "or"))
	case !d.Tabular():
		return t.consistentClasses(refuse, d.Classes)
	case t.Session.BatchSize > 0 && session.TraitsOf(t.Task).Overlap:
		return refuse("batch-size", "mini-batches cannot keep the shares of groups that overlap; use 0, all rows")
	}
	for i, c := range t.Table.Classes {
		if slices.Contains(t.Table.Classes[:i], c) {
			return refuse("classes", "names class %s twice", c)
		}
	}
	return nil
}

// classNumbers sets the numbers of the classes of pictures. known are the names of all classes.
func (t *Train) classNumbers(refuse refusal, known []string) error {
	t.Pictures.Classes = nil
	for _, name := range t.Table.Classes {
		class := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
		if n, err := strconv.ParseUint(name, 10, 31); err == nil { // a number comes before a name of digits
			class = int(n)
		}
		if class < 0 {
			hint := "the classes are " + strings.Join(known, ", ")
			lower := make([]string, len(known))
			for k, other := range known {
				lower[k] = strings.ToLower(other)
			}
			if near := option.Nearest(strings.ToLower(name), lower); near != "" {
				hint = "did you mean " + known[slices.Index(lower, near)] + "?"
			}
			return refuse("classes", "%s has no class %q; %s", t.Dataset, name, hint)
		}
		if slices.Contains(t.Pictures.Classes, class) {
			return refuse("classes", "names class %s twice", name)
		}
		t.Pictures.Classes = append(t.Pictures.Classes, class)
	}
	return nil
}

// consistentClasses refuses settings that do not fit the classes of pictures.
func (t *Train) consistentClasses(refuse refusal, known []string) error {
	if err := t.classNumbers(refuse, known); err != nil {
		return err
	}
	switch {
	case t.Table.Split.Test != 0:
		return refuse("split", "pictures have test rows of their own; the third percentage must be 0, as in 90/10/0")
	case len(t.Pictures.Classes) < 2:
		return refuse("classes", "give at least two classes")
	case t.Session.BatchSize > 0 && t.Session.BatchSize < len(t.Pictures.Classes):
		return refuse("batch-size", "must be at least %d, a row of each class, or 0, all rows", len(t.Pictures.Classes))
	}
	return nil
}

// consistentMethod refuses methods whose needs the problem does not meet.
func (t *Train) consistentMethod(refuse refusal) error {
	m, err := t.TrainerMethod()
	if err != nil {
		return err
	}
	needs, traits, regularizer := m.Needs(), session.TraitsOf(t.Task), t.Problem.Regularizer.Kind
	name := cmp.Or(needs.Option, option.NameMethod)
	drawn := traits.Sampled || traits.Pairs && !traits.OnDecisions && t.Session.BatchSize == 1
	switch {
	case needs.Gaps && !traits.Gaps:
		return refuse(name, "needs gaps |h| <= eps, which --problem %s does not have; %s", t.Data.Problem, needs.Instead)
	case needs.Regularizers != nil && !slices.Contains(needs.Regularizers, regularizer):
		var kinds []string
		for _, k := range needs.Regularizers {
			kinds = append(kinds, k.String())
		}
		return refuse(name, "needs --regularizer %s (now %s)", option.List(kinds, "or"), regularizer)
	case traits.Largest && method.Smooth(m):
		d, _ := session.LookupTask(t.Data.Problem)
		return refuse(option.NameMethod, "needs smooth constraints, and the largest of several has a kink; use %s",
			cmp.Or(d.Suits.Smooth, "another method"))
	case needs.Group && !drawn:
		return refuse(name, "needs %s", SuitableProblems(needs))
	case needs.Convex && !(traits.Convex && t.Model.Shape.Model == models.TextLinear):
		return refuse(name, "needs smooth convex functions, as those of %s; %s", SuitableProblems(needs), needs.Instead)
	case needs.AllRows && t.Session.BatchSize > 0:
		return refuse("batch-size", "--method %s takes all rows in each iteration; use 0", t.Method.Name)
	}
	return nil
}

// SuitableProblems returns the tasks that suit a method which draws a group or needs convex
// functions, with the settings; "" for the needs of other methods.
func SuitableProblems(n trainer.Needs) string {
	var list []string
	for _, d := range session.Tasks() {
		with := ""
		switch {
		case n.Group:
			with = d.Suits.Drawn
		case n.Convex && d.Suits.Convex != "":
			with = d.Suits.Convex + " and --model " + models.TextLinear
		}
		if with != "" {
			list = append(list, "--problem "+d.Name+" with "+with)
		}
	}
	return strings.Join(list, ", or ")
}

// consistentDevice refuses settings that the device or the engine does not support.
func (t *Train) consistentDevice(refuse refusal) error {
	d := t.Session.Device
	mostThreads := max(leastThreads, threadsPerCore*runtime.NumCPU())
	switch {
	case d.Dtype == tensor.Float32 && t.Model.Shape.Model == models.KindScores:
		return refuse("dtype", "the scores of --model scores are compared in float64; leave it out")
	case d.Threads > mostThreads:
		return refuse("threads", "must be at most %d, or 0, all cores", mostThreads)
	case d.Engine == session.Gorgonia && d.Kind == session.CUDA:
		return refuse("engine", "computes on the CPU; use --engine plan with --device cuda")
	case d.Engine == session.Gorgonia && d.Products != "":
		return refuse("products", "the engine gorgonia has its own products; use auto")
	case d.Engine == session.Gorgonia:
		return nil
	case d.Kind == session.CPU && slices.Contains(session.GPUProducts(), d.Products):
		supported := []string{"auto"}
		for _, p := range session.CPUProducts() {
			supported = append(supported, string(p))
		}
		return refuse("products", "the CPU device does not support it (supported: %s)", strings.Join(supported, ", "))
	case d.Dtype == tensor.Float64 && d.Products != "":
		return refuse("products", "with --dtype float64 products are in float64; use auto")
	case d.Memory > 0 && d.Kind == session.CUDA:
		return refuse("memory", "keeps rows of the CPU in a file; use --device cpu, or --micro-batch for a GPU")
	case d.MicroBatch > 0 && d.Kind == session.CPU:
		return refuse("micro-batch", "the CPU device works on blocks of rows already; use 0")
	}
	return nil
}

// placed names the place of a setting in an error of a task.
func (r *resolver) placed(err error) error {
	var refused *session.OptionError
	if errors.As(err, &refused) {
		if s, given := r.given[refused.Option]; given {
			return &Error{Where: s.place.String() + ":", Problem: refused.Problem, Flag: s.flag()}
		}
	}
	return NameFlags(err)
}
