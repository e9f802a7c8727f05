package method

import "testing"

// The penalty of quasi-Newton steps does not grow without bound.
func TestThePenaltyIsBounded(t *testing.T) {
	d := perturbed{rho: networkPenalty}
	times := 0
	for d.tighten() {
		if times++; times > 100 {
			t.Fatalf("rho is %v after %d times", d.rho, times)
		}
	}
	if d.rho < mostPenalty || d.rho > 2*mostPenalty {
		t.Errorf("the largest rho is %v, want about %v", d.rho, mostPenalty)
	}
}
