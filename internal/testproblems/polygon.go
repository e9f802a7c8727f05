package testproblems

import "math"

// polygonVertices is the number of vertices of the polygon.
const polygonVertices = 10

// largestPolygons is the problem of more than 32 constraints.
func largestPolygons() []Problem { return []Problem{largestSmallPolygon()} }

// largestSmallPolygon is the polygon of 10 vertices with the largest area among those of diameter
// at most 1. The last vertex is the origin; the others have the polar coordinates
//
//	r_i = x_i,  theta_i = x_{i+9},  i = 0..8,
//
// and f is the negative area, -1/2 sum_i r_i r_{i+1} sin(theta_{i+1} - theta_i). The 71 constraints
// are the squared distances of the 45 pairs of vertices, at most 1, the order of the angles, r_i >=
// 0 and theta_i <= pi. A rotation about the origin changes none but the last of these: the solution
// is one of an arc.
func largestSmallPolygon() Problem {
	const n = polygonVertices - 1
	const m = n*(n-1)/2 + n + (n - 1) + n + n
	multipliers := make([]float64, m)
	for k, nu := range map[int]float64{ // pairs of vertices at the distance 1
		4: 0.0952904038607632, 5: 0.032384188811278615, 13: 0.10550601927068995, 20: 0.032384188811278615, 21: 0.0952904038607632,
		27: 0.0728671804359904, 28: 0.08250497687112347, 33: 0.07753782664882893, 34: 0.08250497687112347, 38: 0.0728671804359904,
	} {
		multipliers[k] = nu
	}
	return Problem{
		Name:   "largest-small-polygon-10",
		Source: "Dolan, More and Munson, Benchmarking Optimization Software with COPS 3.0 (2004), problem 1; Graham, The Largest Small Hexagon (1975)",
		N:      2 * n, M: m, Start: polygonStart(),
		F: func(x []float64) float64 {
			area := 0.0
			for i := range n - 1 {
				area += x[i] * x[i+1] * math.Sin(x[n+i+1]-x[n+i]) / 2
			}
			return -area
		},
		Grad: func(dst, x []float64) {
			clear(dst)
			for i := range n - 1 {
				sin, cos := math.Sincos(x[n+i+1] - x[n+i])
				dst[i] -= x[i+1] * sin / 2
				dst[i+1] -= x[i] * sin / 2
				dst[n+i] += x[i] * x[i+1] * cos / 2
				dst[n+i+1] -= x[i] * x[i+1] * cos / 2
			}
		},
		G: func(dst, x []float64) {
			k := 0
			add := func(g float64) { dst[k], k = g, k+1 }
			for i := range n {
				for j := i + 1; j < n; j++ {
					add(x[i]*x[i] + x[j]*x[j] - 2*x[i]*x[j]*math.Cos(x[n+j]-x[n+i]) - 1)
				}
				add(x[i]*x[i] - 1)
			}
			for i := range n - 1 {
				add(x[n+i] - x[n+i+1])
			}
			for i := range n {
				add(-x[i])
				add(x[n+i] - math.Pi)
			}
		},
		JTW: func(dst, x, w []float64) {
			clear(dst)
			k := 0
			next := func() float64 { k++; return w[k-1] }
			for i := range n {
				for j := i + 1; j < n; j++ {
					v := 2 * next()
					sin, cos := math.Sincos(x[n+j] - x[n+i])
					dst[i] += v * (x[i] - x[j]*cos)
					dst[j] += v * (x[j] - x[i]*cos)
					dst[n+j] += v * x[i] * x[j] * sin
					dst[n+i] -= v * x[i] * x[j] * sin
				}
				dst[i] += 2 * next() * x[i]
			}
			for i := range n - 1 {
				v := next()
				dst[n+i] += v
				dst[n+i+1] -= v
			}
			for i := range n {
				dst[i] -= next()
				dst[n+i] += next()
			}
		},
		Optimum: []float64{
			0.31726546930720173, 0.5041793252357787, 0.6902939113183014, 0.8905849841233001, 1, 1,
			0.8839032806179509, 0.6313635152802995, 0.330779406669611,
			0.42634291173222755, 0.6782414887942992, 0.8512760500445042, 1.1663902176422933, 1.4986965044153646, 1.8378335402620918,
			2.2092178697279348, 2.565828670711638, 2.9033396878237254,
		},
		Value:       -0.7491373458778303,
		Multipliers: multipliers,

		StrictComplementarity: true, LICQ: true, MFCQ: true, LocalMinima: true,
	}
}

// polygonStart is the start of COPS, with unequal radii.
func polygonStart() []float64 {
	const n, vertices = polygonVertices - 1, float64(polygonVertices)
	x := make([]float64, 2*n)
	for k := range n {
		i := float64(k + 1)
		x[k], x[n+k] = 4*i*(vertices+1-i)/((vertices+1)*(vertices+1)), math.Pi*i/vertices
	}
	return x
}
