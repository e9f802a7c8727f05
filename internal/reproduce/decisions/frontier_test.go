package decisions

import "testing"

// Two classifiers on either side of the limit are mixed so that the gap equals the limit.
func TestEqualGapMixesUpToTheLimit(t *testing.T) {
	fair, sharp := cells(0, 0, 0, 0), cells(0, 50, 0, 8) // gaps 0 and 1/3 - 8/60 = 0.2; errors 70/210 and 12/210
	m, ok := equalGap(demographicParity, total(), []Counts{fair, sharp}, 0.05)
	if !ok {
		t.Fatal("the limit is not reached")
	}
	got := measure(demographicParity, total(), m, 0)
	near(t, "gap", got.largest(), 0.05+rounding)
	if share := (got.Error - 70/210.) / (12/210. - 70/210.); share < 0.2499 || share > 0.2501 {
		t.Errorf("a share of %v is the sharper classifier's, want a quarter", share)
	}
}

// Gaps of opposite signs cancel in a mixture.
func TestEqualGapUsesSignedGaps(t *testing.T) {
	up, down := cells(0, 50, 0, 8), cells(0, 20, 0, 20) // +0.2 and -0.2
	m, ok := equalGap(demographicParity, total(), []Counts{up, down}, 0)
	if !ok {
		t.Fatal("the mixture without a gap is not found")
	}
	if gap := measure(demographicParity, total(), m, 0).largest(); gap > 1e-8 {
		t.Errorf("gap %v", gap)
	}
}

// A single classifier is the result if its gap is within the limit. Beyond the limit, the result is
// empty.
func TestEqualGapOfOneClassifier(t *testing.T) {
	good, bad := cells(0, 50, 0, 20), cells(100, 50, 40, 20)
	m, ok := equalGap(equalizedOdds, total(), []Counts{bad, good}, 0.01)
	if !ok || m != good {
		t.Errorf("%v %v, want the classifier without an error", m, ok)
	}
	if _, ok := equalGap(neymanPearson, total(), []Counts{bad}, 0.5); ok {
		t.Error("a classifier beyond the limit was used")
	}
}
