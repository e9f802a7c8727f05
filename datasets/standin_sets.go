package datasets

import (
	"math"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
)

// sexMixture is the mixture of sex in Adult's stand-in. It gives both sexes about the published
// shares of high incomes.
var sexMixture = mixture{[...]int{2, 1, -1, 1}, 5}

// syntheticAdult is the stand-in for Adult: 14 blocks of binary features.
func syntheticAdult() Dataset {
	return standInFor(adult(), func(opts tabular.TableOptions) (*loader.Source, error) {
		const rows, positives = 48842, 11687
		t := newStandIn(rows, opts.Seed)
		s := &loader.Source{Classes: adultClasses, Label: adultLabel(), Labels: t.labels(positives)}
		blocks := make([][]int32, len(adultBlocks))
		entries := 0
		for b, block := range adultBlocks {
			m := mixtureOf(b)
			if block.name == "sex" {
				m = sexMixture
			}
			blocks[b] = t.categories(block.counts, m)
			for _, n := range block.counts {
				entries += n
			}
		}
		x := &matrix.CSR{Rows: rows, Cols: adultFeatures, Starts: make([]int, 1, rows+1), Columns: make([]int32, 0, entries)}
		for i := range rows {
			first := int32(0)
			for b, codes := range blocks {
				if codes[i] >= 0 {
					x.Columns = append(x.Columns, first+codes[i])
				}
				first += int32(len(adultBlocks[b].counts))
			}
			x.Starts = append(x.Starts, len(x.Columns))
		}
		return s, s.Sparse(x, adultDesign(), opts, nil)
	})
}

// syntheticBank is the stand-in for Bank.
func syntheticBank() Dataset {
	return standInFor(bank(), func(opts tabular.TableOptions) (*loader.Source, error) {
		return bankDesign().Table(drawBank(opts.Seed), opts)
	})
}

// drawBank generates a sheet like Bank's. The counts are the published counts of the categories in
// alphabetical order, including "unknown".
func drawBank(seed uint64) *columnar.Sheet {
	t := newStandIn(41188, seed)
	counts := map[string][]int{
		"job":         {10422, 9254, 1456, 1060, 2924, 1720, 1421, 3969, 875, 6743, 1014, 330},
		"marital":     {4612, 24928, 11568, 80},
		"education":   {4176, 2292, 6045, 9515, 18, 5243, 12168, 1731},
		"default":     {32588, 8597, 3},
		"housing":     {18622, 990, 21576},
		"loan":        {33950, 990, 6248},
		"contact":     {26144, 15044},
		"month":       {2632, 6178, 182, 7174, 5318, 546, 13769, 4101, 718, 570},
		"day_of_week": {7827, 8514, 8623, 8090, 8134},
		"poutcome":    {4252, 35563, 1373},
	}
	type quantiles struct {
		knots []knot
		unit  int
	}
	numbers := map[string]quantiles{
		"age": {[]knot{{0, 17}, {1067, 24}, {1068, 25}, {10296, 32}, {20593, 38}, {30890, 47},
			{39994, 59}, {39995, 60}, {41187, 98}}, 1},
		"duration":       {t.quantiles([7]int{0, 59, 102, 180, 319, 551, 4918}), 1},
		"campaign":       {t.quantiles([7]int{1, 1, 1, 2, 3, 5, 56}), 1},
		"pdays":          {[]knot{{0, 0}, {1514, 27}, {1515, 999}, {41187, 999}}, 1},
		"previous":       {[]knot{{0, 0}, {35562, 0}, {35563, 1}, {40123, 1}, {40124, 2}, {41187, 7}}, 1},
		"emp.var.rate":   {t.quantiles([7]int{-34, -18, -18, 11, 14, 14, 14}), 10},
		"cons.price.idx": {t.quantiles([7]int{92201, 92893, 93075, 93749, 93994, 94465, 94767}), 1000},
		"cons.conf.idx":  {t.quantiles([7]int{-508, -462, -427, -418, -364, -361, -269}), 10},
		"euribor3m":      {t.quantiles([7]int{634, 1046, 1344, 4857, 4961, 4964, 5045}), 1000},
		"nr.employed":    {t.quantiles([7]int{49636, 50762, 50991, 51910, 52281, 52281, 52281}), 10},
	}
	s := &columnar.Sheet{Name: "synthetic-bank", Rows: t.rows}
	for j, e := range bankDesign().Encodings {
		if e.Numeric() {
			q := numbers[e.Column]
			s.Columns = append(s.Columns, &columnar.Column{Name: e.Column, Numbers: t.numbers(q.knots, q.unit, mixtureOf(j))})
		} else {
			s.Columns = append(s.Columns, t.Text(e.Column, e.Categories, counts[e.Column], mixtureOf(j)))
		}
	}
	s.Columns = append(s.Columns, t.Text("y", []string{"no", "yes"}, []int{36548, 4640}, labelMixture))
	return s
}

// raceMixture is the mixture of race in COMPAS's stand-in. It gives the first race about the
// published share of recidivists.
var raceMixture = mixture{[...]int{-1, -1, 1, 0}, 5}

// syntheticCompas is the stand-in for COMPAS after filtering.
func syntheticCompas() Dataset {
	return standInFor(compas(), func(opts tabular.TableOptions) (*loader.Source, error) {
		return compasDesign().Table(drawCompas(opts.Seed), opts)
	})
}

// drawCompas generates a sheet like COMPAS's.
func drawCompas(seed uint64) *columnar.Sheet {
	t := newStandIn(6172, seed)
	counts := map[string][]int{
		"sex":             {1175, 4997},
		"age_cat":         {1347, 3532, 1293},
		"race":            {3175, 31, 2103, 509, 11, 343},
		"c_charge_degree": {3970, 2202},
	}
	knots := map[string][]knot{
		"age":             t.quantiles([7]int{18, 22, 25, 31, 42, 53, 96}),
		"juv_fel_count":   {{0, 0}, {5963, 0}, {5964, 1}, {6102, 1}, {6171, 4}},
		"juv_misd_count":  {{0, 0}, {5819, 0}, {5820, 1}, {6067, 1}, {6171, 5}},
		"juv_other_count": {{0, 0}, {5710, 0}, {5711, 1}, {6036, 1}, {6171, 4}},
		"priors_count":    t.quantiles([7]int{0, 0, 0, 1, 4, 9, 38}),
	}
	s := &columnar.Sheet{Name: "synthetic-compas", Rows: t.rows}
	for j, e := range compasDesign().Encodings {
		m := mixtureOf(j)
		if e.Column == "race" {
			m = raceMixture
		}
		if e.Numeric() {
			s.Columns = append(s.Columns, &columnar.Column{Name: e.Column, Numbers: t.numbers(knots[e.Column], 1, m)})
		} else {
			s.Columns = append(s.Columns, t.Text(e.Column, e.Categories, counts[e.Column], m))
		}
	}
	s.Columns = append(s.Columns, t.Text("two_year_recid", []string{"0", "1"}, []int{3363, 2809}, labelMixture))
	return s
}

// syntheticCommunities is the stand-in for Communities and Crime.
func syntheticCommunities() Dataset {
	return standInFor(communities(), func(opts tabular.TableOptions) (*loader.Source, error) {
		return communitiesTable(drawCommunities(opts.Seed), opts)
	})
}

// drawCommunities generates a sheet like the sheet of Communities and Crime: numbers in hundredths,
// most columns with the same distribution, and separate distributions for the shares of the groups.
func drawCommunities(seed uint64) *columnar.Sheet {
	t := newStandIn(1994, seed)
	usual := t.quantiles([7]int{0, 12, 25, 42, 60, 78, 100})
	special := map[string][]knot{
		"racepctblack": t.quantiles([7]int{0, 0, 2, 6, 23, 62, 100}),
		"racePctHisp":  t.quantiles([7]int{0, 1, 1, 4, 16, 46, 100}),
		"racePctAsian": t.quantiles([7]int{0, 1, 4, 7, 17, 40, 100}),
	}
	const surveyed = 319 // communities in the survey of police departments
	survey := t.categories([]int{t.rows - surveyed, surveyed}, mixture{[...]int{1, 0, 0, 1}, 2})
	s := &columnar.Sheet{Name: "synthetic-communities", Rows: t.rows}
	for j, e := range communitiesDesign().Encodings {
		knots := special[e.Column]
		if knots == nil {
			knots = usual
		}
		c := &columnar.Column{Name: e.Column, Numbers: t.numbers(knots, 100, mixtureOf(j))}
		switch {
		case e.Column == "OtherPerCap":
			c.Numbers[t.s.Below(t.rows)] = math.NaN()
		case e.Missing:
			for i, in := range survey {
				if in == 0 {
					c.Numbers[i] = math.NaN()
				}
			}
		}
		s.Columns = append(s.Columns, c)
	}
	crime := []knot{{0, 0}, {1385, 27}, {1386, 28}, {1993, 100}}
	s.Columns = append(s.Columns, &columnar.Column{Name: crimeColumn, Numbers: t.numbers(crime, 100, labelMixture)})
	return s
}
