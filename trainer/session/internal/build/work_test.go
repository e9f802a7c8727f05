package build

import (
	"math"
	"testing"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer"
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

// On a GPU, products with many rows take little time, a record does not copy rows, and the measures
// of the host are worth many iterations. The 101 records of 1,000 iterations on pictures, as many
// as on a CPU, become few.
func TestRecordWorkOnGPU(t *testing.T) {
	b, _ := squares(t, 2, 784)
	b.Model = models.Spec{Inputs: 784, Hidden: []int{256}, Outputs: 4}
	all := []matrix.Matrix{matrix.NewBytes(24000, 784, 1), matrix.NewBytes(4000, 784, 1)}
	records := func() int {
		work, least := b.RecordWork(all, 0, false)
		every, _ := trainer.Settings{Iterations: 1000, RecordWork: work, LeastRecords: least}.Intervals()
		return 1000/every + 1
	}
	if n := records(); n < 90 {
		t.Errorf("%d records on a CPU", n)
	}
	b.Devices.OnGPU = true
	if n := records(); n > 21 {
		t.Errorf("%d records on a GPU", n)
	}
}
