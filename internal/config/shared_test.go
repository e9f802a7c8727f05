package config

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/tensor"
)

// difference compares two configurations without the reason of the method.
func difference(a, b Train) string {
	return cmp.Diff(a, b, cmp.Comparer(func(a, b tensor.Dtype) bool { return a == b }),
		cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.IgnoreFields(Method{}, "Reason"))
}

// The contenders of a comparison may differ in the methods' own settings, the batch size and the
// device. They share everything that defines the problem or the budget.
func TestWhyShared(t *testing.T) {
	for _, k := range Keys() {
		free := k.Group == groupDevice && k.Name != "threads" && k.Name != "explain" || k.Group == GroupMethod && k.Owners != nil || k.Name == "batch-size"
		if got := k.WhyShared() == ""; got != free {
			t.Errorf("%s (%s): free %v, want %v", k.Name, k.Group, got, free)
		}
	}
	for _, name := range []string{
		"problem", "dataset", "split", "drop-sensitive", "rows-per-class", "model", "hidden", "kappa", "epsilon", "phi", "regularizer",
		"theta", "regularizer-weight", "box", "preset", "seed", "iterations", "feasibility-tolerance", "init",
	} {
		k := Keys()[slices.IndexFunc(Keys(), func(k *Key) bool { return k.Name == name })]
		if k.WhyShared() == "" {
			t.Errorf("%s may differ between the methods of a comparison", name)
		}
	}
}
