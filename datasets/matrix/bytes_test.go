package matrix

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pixelScale = 1.0 / 255

// plain hides a matrix's type, so that Moments takes the general way.
type plain struct{ Matrix }

func TestBytesWiden(t *testing.T) {
	m := &Bytes{Rows: 3, Cols: 2, Data: []uint8{0, 255, 51, 102, 1, 254}, Scale: pixelScale}
	f64 := make([]float64, 4)
	m.Float64(f64, 1, 3)
	if diff := cmp.Diff([]float64{51 * (1.0 / 255), 102 * (1.0 / 255), 1.0 / 255, 254 * (1.0 / 255)}, f64); diff != "" {
		t.Error(diff)
	}
	f32 := make([]float32, 2)
	m.Float32(f32, 0, 1)
	if diff := cmp.Diff([]float32{0, 1}, f32); diff != "" {
		t.Error(diff)
	}
}

func TestMomentsByHand(t *testing.T) {
	// Columns (1, 3) and (10, 20): means 2 and 15, squared deviations
	// 1+1+25+25 = 52 over 4 elements, times the scale 1/2 (squared 1/4).
	m := &Bytes{Rows: 2, Cols: 2, Data: []uint8{1, 10, 3, 20}, Scale: 0.5}
	for name, m := range map[string]Matrix{"bytes": m, "blocks": plain{m}} {
		center, deviation := Moments(m)
		if diff := cmp.Diff([]float64{1, 7.5}, center); diff != "" {
			t.Errorf("%s: center: %s", name, diff)
		}
		if want := math.Sqrt(13) / 2; !(math.Abs(deviation-want) <= 1e-15) {
			t.Errorf("%s: deviation %v, want %v", name, deviation, want)
		}
	}
}

func TestMomentsWaysAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &Bytes{Rows: 3*momentRows + 5, Cols: 17, Scale: pixelScale}
	for range m.Rows * m.Cols {
		m.Data = append(m.Data, uint8(rng.IntN(256)))
	}
	exact, s := Moments(m)
	center, deviation := Moments(plain{m})
	for j := range exact {
		if !(math.Abs(exact[j]-center[j]) <= 1e-14) {
			t.Errorf("center %d: %v and %v", j, exact[j], center[j])
		}
	}
	if !(math.Abs(s-deviation) <= 1e-14) {
		t.Errorf("deviation: %v and %v", s, deviation)
	}
}

func TestMomentsDegenerate(t *testing.T) {
	constant := &Bytes{Rows: 3, Cols: 2, Data: []uint8{7, 255, 7, 255, 7, 255}, Scale: pixelScale}
	empty := &Bytes{Rows: 0, Cols: 2, Scale: pixelScale}
	for _, m := range []Matrix{constant, empty, plain{empty}} {
		center, deviation := Moments(m)
		if deviation != 0 || len(center) != 2 || math.IsNaN(center[0]) {
			t.Errorf("%T: center %v, deviation %v", m, center, deviation)
		}
	}
}
