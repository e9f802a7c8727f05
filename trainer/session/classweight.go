package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
)

// ClassWeightBalanced is the value of Decisions.ClassWeight that gives every class the same share
// of the objective, as class_weight="balanced" of scikit-learn does: the weight n/(classes count).
const ClassWeightBalanced = "balanced"

// weighed returns the objective with weights of classes. With the classes' weights c_k and the
// weight W_k of the training rows of class k, the mean over all rows is a sum of means over
// classes:
//
//	sum_i w_i c_(y_i) l_i / sum_i w_i c_(y_i) = sum_k share_k (mean l of class k),
//	share_k = c_k W_k / sum_j c_j W_j.
//
// The shares have seven digits, because the objective's name shows them.
func (t *Decisions) weighed(train *constraints.Population) (constraints.Rate, error) {
	name := t.Minimize.String()
	if name != constraints.Error().String() && name != constraints.Loss().String() {
		return t.Minimize, &OptionError{Option: "class-weight", Problem: fmt.Sprintf("weighs the classes of error or loss, and the objective is %s; "+
			"write its weights as coefficients, as in --minimize \"5*fnr + fpr\"", name)}
	}
	weights, err := t.classWeights(train.Classes)
	if err != nil {
		return t.Minimize, err
	}
	own, total := make([]float64, len(train.Classes)), 0.0
	for i, y := range train.Labels {
		w := 1.0
		if train.Weights != nil {
			w = train.Weights[i]
		}
		own[y] += w
	}
	var terms []string
	for k, w := range weights {
		if weights == nil {
			break
		}
		total += w * own[k]
	}
	for k, class := range train.Classes {
		share := 1 / float64(len(own)) // balanced
		if weights != nil {
			share = weights[k] * own[k] / total
		}
		selected := constraints.Error(constraints.Attribute{Name: class}.Quoted()).String()
		share, _ = strconv.ParseFloat(strconv.FormatFloat(share, 'e', shareDigits, 64), 64)
		terms = append(terms, strconv.FormatFloat(share, 'f', -1, 64)+"*"+strings.Replace(selected, constraints.Error().String(), name, 1))
	}
	r, err := constraints.ParseObjective(strings.Join(terms, " + "))
	if err != nil {
		return r, fmt.Errorf("session: the objective with weights of classes: %w", err)
	}
	return r, nil
}

// classWeights returns the weight of each class; nil: balanced.
func (t *Decisions) classWeights(classes []string) ([]float64, error) {
	if slices.Equal(t.ClassWeight, []string{ClassWeightBalanced}) {
		return nil, nil
	}
	fail := func(format string, args ...any) ([]float64, error) {
		return nil, &OptionError{Option: "class-weight", Problem: fmt.Sprintf(format, args...)}
	}
	weights, seen := slices.Repeat([]float64{1}, len(classes)), map[int]bool{}
	for _, text := range t.ClassWeight {
		at := strings.LastIndex(text, "=")
		if at < 0 {
			return fail("has %q, want %s, or a weight for a class, as in %s=2", text, ClassWeightBalanced, classes[0])
		}
		w, err := strconv.ParseFloat(strings.TrimSpace(text[at+1:]), 64)
		if err != nil || !(w > 0) || w > mostClassWeight {
			return fail("has the weight %q, want a number above 0, at most %.0g", text[at+1:], mostClassWeight)
		}
		k := classOf(strings.TrimSpace(text[:at]), classes)
		if k < 0 {
			return fail("names the class %q, and the classes are %s", text[:at], strings.Join(classes, ", "))
		}
		if seen[k] {
			return fail("names the class %s twice", classes[k])
		}
		weights[k], seen[k] = w, true
	}
	return weights, nil
}

// shareDigits is the number of decimals of a share's mantissa.
const shareDigits = 6

// mostClassWeight is the largest weight of a class, so that no share vanishes.
const mostClassWeight = 1e6

// classOf returns the class of a name: the name itself, or the value in a name such as
// "income=high"; -1: none, or several.
func classOf(name string, classes []string) int {
	if k := slices.Index(classes, name); k >= 0 {
		return k
	}
	found := -1
	for k, class := range classes {
		if _, value, ok := strings.Cut(class, "="); ok && value == name {
			if found >= 0 {
				return -1
			}
			found = k
		}
	}
	return found
}
