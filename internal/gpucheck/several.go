package gpucheck

import (
	"context"
	"errors"
	"fmt"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer/graph"
)

const severalName = "several GPUs"

// several compares passes on all GPUs of the machine, which share the rows, with the CPU device.
// Two runs must agree to the bit. A machine with one GPU opens it twice, which tests everything but
// the transfers between two GPUs.
func several(_ context.Context, o Options) (list []Result, err error) {
	if o.Devices == nil || o.OpenAt == nil {
		return []Result{Skipped(severalName, "the other GPUs are not known")}, nil
	}
	all, err := o.Devices()
	if err != nil {
		return nil, err
	}
	var ordinals []int
	for _, info := range all {
		ordinals = append(ordinals, info.Ordinal)
	}
	title := fmt.Sprintf("%s: error of %d GPUs", severalName, len(all))
	if len(all) == 1 {
		ordinals = append(ordinals, ordinals[0])
		title = severalName + ": error of one GPU, opened twice"
	}
	for _, way := range []cuda.Sums{"", cuda.HostSums} {
		how := "sums as by default"
		if way != "" {
			how = "sums by the " + string(way)
		}
		results, err := shared(o, title+", "+how, ordinals, way)
		if list = append(list, results...); err != nil {
			return list, err
		}
	}
	return list, nil
}

// shared compares passes on several GPUs, whose sums are added in the given way.
func shared(o Options, title string, ordinals []int, way cuda.Sums) (list []Result, err error) {
	host, err := reference()
	if err != nil {
		return nil, err
	}
	s, err := cuda.OpenSeveral(ordinals, o.OpenAt, cuda.Options{GPUSums: way})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	spec := models.Spec{Inputs: 12, Hidden: []int{16}}
	for _, c := range []graphcases.Case{
		graphcases.Network(spec, []int{300, 500}, constraints.Sigmoid, false, graphcases.Values),
		graphcases.Network(spec, []int{200, 300, 150, 250}, constraints.Sigmoid, true, graphcases.Values),
	} {
		worst, same, err := caseError(c, tensor.Float64, host, graph.On(s))
		if err != nil {
			return list, err
		}
		r := AtMost(title+", "+c.Name, worst, precisions()[0].bound, "")
		if r.Detail = "sums added " + s.Path(); !same {
			r.Status, r.Detail = Failed, r.Detail+"; two runs differ"
		}
		list = append(list, r)
	}
	return list, nil
}
