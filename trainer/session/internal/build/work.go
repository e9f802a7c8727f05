package build

import (
	"time"

	"ppal/datasets/matrix"
	"ppal/models"
)

// The work of a record and of an iteration in nanoseconds, on one thread of a server CPU of 2022.
// The constants need not be accurate: they decide only how far apart automatic records are.
const (
	workOfIteration = 5e3  // an iteration without rows
	workOfRecord    = 5e4  // a record without rows
	workOfRow       = 2    // an iteration: the surrogates of a row
	workOfMeasure   = 50   // a record: the measures of a row for each score
	workOfSparse    = 0.15 // a product with an entry of a sparse row
	workOfDense     = 0.03 // a product with an entry of a dense row
	workOfCopy      = 1    // a record: an entry of a held-out row that is copied to the device
)

// On a GPU, a pass over rows takes at least workOfPass: the launches of its kernels and the
// exchange with the host. Its products take 1/fasterOnGPU of the time of a thread. The host
// measures the rows.
const (
	workOfPass  = 5e4
	fasterOnGPU = 2000
)

// cheapRecords is the work of all records together, in nanoseconds, that a run takes in any case.
const cheapRecords = 1e7

// The least number of automatic records of a run, and the number that needs no more.
const (
	fewRecords  = 5
	manyRecords = 200
)

// RecordShare is the largest share of the training time that automatic records take in longer runs,
// by the clock.
const RecordShare = 0.1

// FreeOnGPU is the time of all records of a run on a GPU that RecordShare does not limit. Many
// trainings on a GPU take less than a second.
const FreeOnGPU = 100 * time.Millisecond

// RecordWork estimates the work of a record, in iterations, and returns the number of records that
// a run takes in any case. splits are the rows of each split, the training rows first. An iteration
// has two products with the training rows, or with a batch of them; batch is the number of its
// rows, 0 without batches. A record has one product with the training rows for the certificate, one
// product with the held-out rows, and the measures of all rows. If again is true, because the
// training samples rows, or begins with samples or with two digits, a record has two products with
// all training rows. The estimate depends on the shapes of the data and the model only: equal runs
// have equal records.
func (b *Builder) RecordWork(splits []matrix.Matrix, batch int, again bool) (iterations float64, least int) {
	faster, pass := 1., 0.
	if b.Devices.GPU != nil {
		faster, pass = fasterOnGPU, workOfPass
	}
	train, iteration, record := 0.0, 2*pass+b.IterationWork(splits[0])/faster, workOfRecord+pass*float64(len(splits))
	for k, data := range splits {
		rows, product, entries := b.productWork(data)
		record += workOfMeasure*rows*float64(b.Outputs()) + product/faster
		if k > 0 {
			if b.Devices.GPU == nil { // otherwise the rows stay on the device
				record += workOfCopy * entries
			}
			continue
		}
		train = rows
		if again { // the records' own forward pass, on all rows or with all digits
			record += pass + product/faster
		}
	}
	if batch > 0 {
		iteration *= float64(batch) / train
	}
	return record / iteration, int(min(max(fewRecords, cheapRecords/record), manyRecords))
}

// IterationWork estimates the work of an iteration on all training rows in nanoseconds, on one
// thread.
func (b *Builder) IterationWork(train matrix.Matrix) float64 {
	rows, product, _ := b.productWork(train)
	return workOfIteration + (2*product + workOfRow*rows)
}

// productWork returns the work of a forward pass of rows in nanoseconds, and the numbers of rows
// and of their entries. A sparse row saves the products of the first layer with its zeros.
func (b *Builder) productWork(data matrix.Matrix) (rows, work, entries float64) {
	n, cols := data.Dims()
	rows, entries = float64(n), float64(n)*float64(cols)
	multiplications := rows * b.rowCost().operations / 2
	if sparse, ok := data.(matrix.Sparse); ok {
		units := float64(models.FirstUnits(b.Model))
		multiplications -= entries * units
		entries = float64(matrix.CountEntries(sparse))
		work = workOfSparse * entries * units
	}
	return rows, work + workOfDense*multiplications, entries
}
