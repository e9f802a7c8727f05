package session

import (
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

// cheapRecords is the work of all records together, in nanoseconds, that a run takes in any case.
const cheapRecords = 1e7

// The least number of automatic records of a run, and the number that needs no more.
const (
	fewRecords  = 5
	manyRecords = 200
)

// recordShare is the largest share of the training time that automatic records take in longer runs,
// by the clock.
const recordShare = 0.1

// recordWork estimates the work of a record, in iterations, and returns the number of records that
// a run takes in any case. An iteration has two products with the training rows. A record has one
// product with the training rows for the certificate, one product with the held-out rows, and the
// measures of all rows. If the training samples rows, or begins with samples or with two digits, a
// record has two products with all training rows. The estimate depends on the shapes of the data
// and the model only: equal runs have equal records.
func (a *assembly) recordWork() (iterations float64, least int) {
	train, iteration, record := 0.0, a.iterationWork(), workOfRecord
	for k, s := range a.splits {
		rows, product, entries := a.productWork(s.Data)
		record += workOfMeasure*rows*float64(a.builder.Outputs()) + product
		if k > 0 {
			record += workOfCopy * entries
			continue
		}
		train = rows
		// the records' own forward pass, on all rows or with all digits
		if a.sampler != nil || a.products == Int8.String() || a.sampled {
			record += product
		}
	}
	if a.sampler != nil && a.options.BatchSize > 0 {
		iteration *= float64(a.options.BatchSize) / train
	}
	return record / iteration, int(min(max(fewRecords, cheapRecords/record), manyRecords))
}

// iterationWork estimates the work of an iteration on all training rows in nanoseconds, on one
// thread.
func (a *assembly) iterationWork() float64 {
	rows, product, _ := a.productWork(a.splits[0].Data)
	return workOfIteration + (2*product + workOfRow*rows)
}

// stepWork returns the work of an iteration on the training rows, or on one batch of them.
func (a *assembly) stepWork() float64 {
	work := a.iterationWork()
	if train := a.splits[0].Rows; a.onBatches(train) {
		work *= float64(a.options.BatchSize) / float64(train.Len())
	}
	return work
}

// productWork returns the work of a product with rows in nanoseconds, and the numbers of rows and
// of their entries.
func (a *assembly) productWork(data matrix.Matrix) (rows, work, entries float64) {
	width := models.FirstUnits(a.builder.Model)
	n, cols := data.Dims()
	entries, work = float64(n)*float64(cols), workOfDense
	if sparse, ok := data.(matrix.Sparse); ok {
		entries, work = float64(matrix.CountEntries(sparse)), workOfSparse
	}
	work *= entries * float64(width)
	return float64(n), work, entries
}
