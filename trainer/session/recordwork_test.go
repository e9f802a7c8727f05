package session

import (
	"math"
	"testing"
)

// A record of a training that begins with two digits has a forward pass of its own, so that its
// work grows by one product.
func TestRecordWorkOfCoarsePasses(t *testing.T) {
	a := assembled(t, small(nil))
	plain, _ := a.recordWork()
	a.products = Int8.String()
	coarse, _ := a.recordWork()
	_, product, _ := a.productWork(a.splits[0].Data)
	if want := plain + product/a.iterationWork(); math.Abs(coarse-want) > 1e-12*want {
		t.Errorf("a record is worth %v iterations, want %v", coarse, want)
	}
}
