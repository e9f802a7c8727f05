package testproblems

import (
	"math"
	"strings"
	"testing"
)

// reference lists values from outside the package's code: the published optimal value (with its
// published precision), and the objective and the sum of the constraints g at the standard start,
// evaluated in exact arithmetic from the published formulas.
var reference = []struct {
	name                        string
	startF, published, startSum float64
}{
	{"HS1", 909, 0, 0},
	{"HS2", 909, 0.0504261879, 0},
	{"HS3", 1.00081, 0, 0},
	{"HS4", 3.323567708333333, 2.666666667, 0},
	{"HS5", 1, -1.913222955, 0},
	{"HS10", -20, -1, 599},
	{"HS11", -24.98, -8.498464223, 23.91},
	{"HS12", 0, -30, -25},
	{"HS15", 909, 306.5, 4},
	{"HS16", 909, 0.25, -4},
	{"HS17", 909, 1, -6},
	{"HS18", 4.04, 5, 38},
	{"HS19", -1808.858296, -6961.81381, -12.01},
	{"HS20", 909, 38.19872981, -8},
	{"HS21", -98.99, -99.96, 19},
	{"HS22", 1, 1, 4},
	{"HS23", 10, 2, -91},
	{"HS24", -0.01336458956457467, -1, -6.077350269189626},
	{"HS29", -1, -22.627417, -41},
	{"HS30", 3, 1, -1},
	{"HS31", 19, 6, 0},
	{"HS33", -3, -4.585786438, -14},
	{"HS34", 0, -0.8340324452, -0.09234888193683621},
	{"HS35", 2.25, 0.1111111111, -1},
	{"HS36", -1000, -3300, -22},
	{"HS37", -1000, -3456, -72},
	{"HS38", 19192, 0, 0},
	{"HS43", 0, -44, -23},
	{"HS44", 0, -15, -53},
	{"HS45", 1.733333333333333, 1, 0},
	{"HS57", 0.03079860168793389, 0.02845966972, -0.26},
	{"HS64", 266035, 6299.842428, 155},
	{"HS65", 136.1111111111111, 0.9535288567, 2},
	{"HS66", 0.58, 0.5181632741, -0.09234888193683621},
	{"HS76", -1.25, -4.681818181, -5},
	{"HS86", 20, -32.34867897, -147.45},
	{"HS93", 137.0664371889887, 135.075961, -0.02164241868197248},
	{"HS100", 714, 680.6300573, -453},
	{"HS113", 753, 24.3062091, -338},
	{"HS117", 2400.10530006, 32.34867897, -192.12499},
}

func TestReference(t *testing.T) {
	published := 0
	for _, p := range All() {
		if strings.HasPrefix(p.Name, "HS") {
			published++
		}
	}
	if published != len(reference) {
		t.Errorf("%d Hock-Schittkowski problems, figures for %d", published, len(reference))
	}
	for _, want := range reference {
		p, ok := ByName(want.name)
		if !ok {
			t.Errorf("%s missing", want.name)
			continue
		}
		// The least precise published values have about 8 digits.
		if d := math.Abs(p.Value - want.published); d > 2e-8*(1+math.Abs(want.published)) {
			t.Errorf("%s: value %.10g, published %.10g", p.Name, p.Value, want.published)
		}
		if f := p.F(p.Start); math.Abs(f-want.startF) > 1e-14*(1+math.Abs(want.startF)) {
			t.Errorf("%s: f(start) = %.17g, want %.17g", p.Name, f, want.startF)
		}
		g := make([]float64, p.M)
		p.G(g, p.Start)
		var sum float64
		for _, gj := range g {
			sum += gj
		}
		if math.Abs(sum-want.startSum) > 1e-14*(1+math.Abs(want.startSum)) {
			t.Errorf("%s: sum of g(start) = %.17g, want %.17g", p.Name, sum, want.startSum)
		}
	}
}

// The area of the polygon of 10 vertices is that of COPS, and the start has its radii and angles.
func TestPolygon(t *testing.T) {
	p, ok := ByName("largest-small-polygon-10")
	if !ok || p.N != 18 || p.M != 71 {
		t.Fatalf("%v with %d variables and %d constraints, want 18 and 71", ok, p.N, p.M)
	}
	if math.Abs(p.Value+0.749137346) > 5e-10 {
		t.Errorf("the area %.10g, published 0.749137346", -p.Value)
	}
	// Vertices 1 and 9 of the start: r = 4 i (11 - i)/121, theta = pi i/10.
	for i, want := range map[int]float64{0: 40. / 121, 8: 72. / 121, 9: math.Pi / 10, 17: 9 * math.Pi / 10} {
		if math.Abs(p.Start[i]-want) > 1e-15 {
			t.Errorf("x_%d of the start is %v, want %v", i, p.Start[i], want)
		}
	}
	// A square of diameter 1 with its corner at the origin, and five more vertices on its edges.
	side := math.Sqrt(0.5)
	x := make([]float64, 18)
	for k, v := range [][2]float64{{side / 2, 0}, {side, 0}, {side, side / 3}, {side, side / 2}, {side, side}, {side / 2, side}, {0.2 * side, side}, {0, side}, {0, side / 2}} {
		x[k], x[9+k] = math.Hypot(v[0], v[1]), math.Atan2(v[1], v[0])
	}
	if area := -p.F(x); math.Abs(area-0.5) > 1e-15 {
		t.Errorf("the square has the area %v, want 0.5", area)
	}
	g := make([]float64, p.M)
	p.G(g, x)
	worst := -1.0
	for _, v := range g {
		worst = max(worst, v)
	}
	if math.Abs(worst) > 1e-15 {
		t.Errorf("the largest constraint of the square is %v, want 0, for its diagonals", worst)
	}
}
