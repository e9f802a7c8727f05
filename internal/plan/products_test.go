package plan

import "testing"

func TestProductsNames(t *testing.T) {
	for _, p := range allProducts() {
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
	if p := Products("int8x1"); p.Known() || p.String() != "int8x1" {
		t.Errorf("%v is known", p)
	}
}
