package verify

import "ppal/constraints"

// mass adds up rows: their number, their weights, the squares of the weights, and the largest
// weight. Without weights, a row has the weight 1.
type mass struct {
	rows                     int
	weight, squares, largest float64
}

func (m *mass) add(weight float64) {
	m.rows++
	m.weight, m.squares, m.largest = m.weight+weight, m.squares+weight*weight, max(m.largest, weight)
}

// plus adds up the rows of both.
func (m mass) plus(o mass) mass {
	return mass{m.rows + o.rows, m.weight + o.weight, m.squares + o.squares, max(m.largest, o.largest)}
}

// effective returns Kish's effective number of rows, (sum of w)^2 / (sum of w^2).
func (m mass) effective() float64 {
	if m.rows == 0 {
		return 0
	}
	return min(m.weight*m.weight/m.squares, float64(m.rows))
}

// size returns the effective number of rows as "min" counts it.
func (m mass) size() int { return int(m.effective() * (1 + 1e-12)) }

// heaviest returns the share of the heaviest row.
func (m mass) heaviest() float64 { return 1 / (m.weight / m.largest) }

// weightOf returns the weight of a row.
func weightOf(p *constraints.Population, i int) float64 {
	if p.Weights == nil {
		return 1
	}
	return p.Weights[i]
}
