package build

import (
	"math"
	"testing"

	"ppal/datasets/matrix"
)

// A record of a training that begins with two digits has a forward pass of its own, so that its
// work grows by one product. Mini-batches make a record worth more iterations, and held-out rows
// add their products, measures and copies.
func TestRecordWork(t *testing.T) {
	b, r := squares(t, 200, 30)
	all := []matrix.Matrix{r.Data}
	rows, product, entries := b.productWork(r.Data)
	if rows != 200 || entries != 6000 || product != workOfDense*6000 {
		t.Fatalf("%v rows, %v entries, the work %v", rows, entries, product)
	}
	plain, least := b.RecordWork(all, 0, false)
	again, _ := b.RecordWork(all, 0, true)
	batches, _ := b.RecordWork(all, 50, false)
	held, _ := b.RecordWork([]matrix.Matrix{r.Data, r.Data}, 0, false)
	iteration := b.IterationWork(r.Data)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"two digits", again, plain + product/iteration},
		{"batches of a quarter", batches, 4 * plain},
		{"as many held-out rows", held, plain + (workOfMeasure*rows+product+workOfCopy*entries)/iteration},
	} {
		if math.Abs(c.got-c.want) > 1e-12*c.want {
			t.Errorf("%s: a record is worth %v iterations, want %v", c.what, c.got, c.want)
		}
	}
	if want := int(cheapRecords / (plain * iteration)); least != want || want <= fewRecords || want >= manyRecords {
		t.Errorf("at least %d records, want %d", least, want)
	}
}
