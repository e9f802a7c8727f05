package graphcases

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/models"
)

// Decisions returns smooth rates of package constraints for each number of rows: two classes with
// the sigmoid and three classes with the softmax, with and without losses, with an objective of one
// and of two cells.
func Decisions(rows ...int) []Case {
	two := []string{"gap(tpr, group) <= 0.1", "fpr <= 0.2", "precision >= 0.5", "error[a] <= 0.3", "ratio(positive_rate, group) >= 0.8"}
	three := []string{"recall[*] >= 0.7", "precision[2] >= 0.5", "fpr[0] <= 0.2", "gap(error, group) <= 0.1"}
	var list []Case
	for i, n := range rows {
		for k, texts := range [][]string{two, three, append(two, "loss[b] <= 0.5"), append(three, "loss[1] <= 0.5"),
			append(two, "balanced_error <= 0.3"), append(three, "balanced_error[2] <= 0.3")} {
			minimize := "error"
			switch k {
			case 4:
				minimize = "balanced_error[1]"
			case 5:
				minimize = "5*fnr[1] + error"
			}
			spec := models.Spec{Inputs: 7 + k, Outputs: 1}
			if k%2 == 1 {
				spec = models.Spec{Inputs: 9, Hidden: []int{12}, Outputs: 3}
			}
			c := Case{Name: fmt.Sprintf("decisions/%s/%d constraints/%d outputs/%d rows", minimize, len(texts), spec.Outputs, n), Spec: spec, Rows: n,
				Storage: Storage((i + k) % 4), Seed: uint64(n + k)}
			c.Nodes = func(scores *gorgonia.Node, _ *rand.Rand) (f, terms *gorgonia.Node, err error) {
				return decisions(minimize, texts, n, max(2, spec.Outputs), scores)
			}
			list = append(list, c)
		}
	}
	return list
}

// decisions adds the smooth rates of n rows to the graph. The rows alternate between classes and
// groups.
func decisions(minimize string, texts []string, n, classes int, scores *gorgonia.Node) (f, terms *gorgonia.Node, err error) {
	p := &constraints.Population{Classes: Names(classes), Attributes: []constraints.Attribute{{Name: "group", Values: []string{"a", "b"}}}}
	for i := range n {
		p.Labels = append(p.Labels, i%classes)
		p.Attributes[0].Of = append(p.Attributes[0].Of, i/classes%3-1)
	}
	var subject []constraints.Constraint
	for _, text := range texts {
		c, err := constraints.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		subject = append(subject, c)
	}
	rate, err := constraints.ParseObjective(minimize)
	if err != nil {
		return nil, nil, err
	}
	s, err := constraints.NewSystem(rate, subject, p)
	if err != nil {
		return nil, nil, err
	}
	sample, err := s.On(p)
	if err != nil {
		return nil, nil, err
	}
	return sample.Nodes(scores)
}
