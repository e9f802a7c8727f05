package plan

import "testing"

func TestProductsNames(t *testing.T) {
	for p := AutoProducts; p <= BF16x2; p++ {
		if got, err := ParseProducts(p.String()); got != p || err != nil {
			t.Errorf("%v: %v, %v", p, got, err)
		}
		if digits := p.Digits() > 0; p.Integers() && !digits {
			t.Errorf("%v: integers without digits", p)
		}
	}
	if _, err := ParseProducts("int8x1"); err == nil {
		t.Error("int8x1 is accepted")
	}
	if got := Products(9).String(); got != "Products(9)" {
		t.Error(got)
	}
}
