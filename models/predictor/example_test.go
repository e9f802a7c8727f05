package predictor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ppal/models/predictor"
	"ppal/trainer/session"
)

// trainedRun trains on a small table, and returns the run's directory and a function that removes
// it.
func trainedRun() (run string, remove func()) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	folder, err := os.MkdirTemp("", "example")
	must(err)
	var text strings.Builder
	text.WriteString("age,job,member\n")
	for i := range 200 {
		fmt.Fprintf(&text, "%d,%s,%s\n", 20+i%50, []string{"clerk", "nurse"}[i/50%2], []string{"no", "yes"}[i%50/25])
	}
	file := filepath.Join(folder, "people.csv")
	must(os.WriteFile(file, []byte(text.String()), 0o644))
	options := session.Options{Data: session.CSV(file, "member", "job=nurse"), Task: session.DemographicParity{}}
	options.Settings.Iterations = 50
	s, err := session.New(context.Background(), options)
	must(err)
	defer s.Close()
	_, err = s.Train(context.Background())
	must(err)
	run = filepath.Join(folder, "run")
	must(s.Save(run))
	return run, func() { _ = os.RemoveAll(folder) }
}

// The example loads the directory of a run and decides about new rows, whose columns may be in
// another order.
func Example() {
	run, remove := trainedRun()
	defer remove()
	m, err := predictor.Load(run)
	if err != nil {
		panic(err)
	}
	file := strings.NewReader("job,age\nclerk,22\nnurse,65\nclerk,68\n")
	err = m.Read(file, "new rows", predictor.Options{}, func(b *predictor.Batch) error {
		for i, class := range b.Decisions {
			fmt.Println(b.First+i+1, m.Classes()[class])
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// 1 no
	// 2 yes
	// 3 yes
}

// The example decides about a row of a program, such as a request to a server.
func ExampleModel_Row() {
	run, remove := trainedRun()
	defer remove()
	m, err := predictor.Load(run)
	if err != nil {
		panic(err)
	}
	row, err := m.Row(map[string]string{"age": "65", "job": "nurse"}, predictor.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Classes()[row.Decision])
	_, err = m.Row(map[string]string{"age": "65", "job": "pilot"}, predictor.Options{})
	fmt.Println(err)
	// Output:
	// yes
	// datasets: job: unknown category "pilot", want one of clerk, nurse
}

// The example counts the decisions on labelled rows. The groups are the groups of the run's
// constraints.
func ExampleModel_Evaluate() {
	run, remove := trainedRun()
	defer remove()
	m, err := predictor.Load(run)
	if err != nil {
		panic(err)
	}
	file := strings.NewReader("age,job,member\n22,clerk,no\n65,nurse,yes\n30,clerk,yes\n68,nurse,yes\n")
	e, err := m.Evaluate(file, "labelled rows", predictor.EvaluateOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Confusion, e.Rates.Overall["error"].Value)
	for _, g := range e.Rates.ByGroup {
		fmt.Println(g.Group, g.Rates["positive_rate"].Value)
	}
	// Output:
	// [[1 0] [1 2]] 0.25
	// job=nurse 1
	// the rest 0
}
