// A program trains on rows of its own: records of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
	"ppal/trainer/session/verify"
)

type loan struct{ Income, Debt, City, Label float64 } // City is 0 or 1, Label is -1 or 1
type loans []byte                                     // a source: loans as JSON

func (l loans) Load(ctx context.Context, on session.Request) (*session.Data, error) {
	var records []loan
	if err := json.Unmarshal(l, &records); err != nil {
		return nil, err
	}
	parts, x, city := [2]session.Matrix{}, [2]matrix.Dense{}, [2][]int{}
	for n, r := range records {
		k := n % 5 / 4 // every fifth is a test row
		x[k] = matrix.Dense{Rows: x[k].Rows + 1, Cols: 2, Data: append(x[k].Data, r.Income, r.Debt)}
		city[k] = append(city[k], int(r.City))
		of := []constraints.Attribute{{Name: "city", Values: []string{"north", "south"}, Of: city[k]}}
		parts[k] = session.Matrix{Features: &x[k], Labels: append(parts[k].Labels, int(r.Label)), Attributes: of, Numbers: append(parts[k].Numbers, n)}
	}
	return session.Matrices{Train: &parts[0], Test: &parts[1], Name: "loans", Files: []results.DataFile{session.NewDataFile("loans.json", l)}}.Load(ctx, on)
}

func main() {
	records, rng := make([]loan, 2000), rand.New(rand.NewPCG(1, 1))
	for k := range records {
		records[k] = loan{rng.NormFloat64(), rng.NormFloat64(), float64(k % 2), 2*float64(rng.IntN(2)) - 1}
		records[k].Income += records[k].Label - records[k].City
	}
	ctx, dir, gap := context.Background(), os.Args[1], constraints.Gap(constraints.TPR, "city").AtMost(0.1)
	o := session.Options{Data: loans(must(json.Marshal(records))), Task: session.Decisions{SubjectTo: []constraints.Constraint{gap}}}
	s := must(session.New(ctx, o))
	defer s.Close()
	must(s.Train(ctx))
	must(0, s.Save(dir))
	scores, report := must(must(predictor.Load(dir)).Scores([]float64{3, 0})), must(verify.Run(ctx, dir, o))
	fmt.Println("met:", s.Summary().Outcome.Constraints[0].Met, "accepted:", scores[0] > 0, "verified:", report.Verified)
	// Output: met: true accepted: true verified: true
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
