package constraints

import (
	"slices"
)

// Intersections returns the groups of the constraints that meet several conditions, such as
// "race=Black, sex=Female", with their rows in the sample. The groups of one condition are the
// values of the attributes.
func (s *Sample) Intersections() ([]Group, error) {
	var list []Group
	for _, m := range s.system.measured {
		for _, set := range m.sets {
			for _, l := range set {
				name := nameOf(l.of.where)
				if len(l.of.where) < 2 || slices.ContainsFunc(list, func(g Group) bool { return g.Name == name }) {
					continue
				}
				c := Cell{where: l.of.where, class: -1}
				b, err := c.on(s.p)
				if err != nil {
					return nil, err
				}
				g := Group{Name: name, Rows: make([]int, len(b.rows))}
				for k, i := range b.rows {
					g.Rows[k] = int(i)
				}
				list = append(list, g)
			}
		}
	}
	return list, nil
}

// BoundGroups are groups with a bound on their rates, or on the differences or ratios of their
// rates.
type BoundGroups struct {
	Rate   string   // in tables of rates: positive_rate, tpr, fpr, precision, error, recall[shirt]
	Groups []string // see GroupName
}

// BoundGroups returns the groups of the constraints for each rate that tables of rates have. A
// bound on fnr, tnr or an accuracy is listed with the rate whose complement it is.
func (s *System) BoundGroups() (list []BoundGroups) {
	for j, m := range s.measured {
		var own BoundGroups
		for _, set := range m.sets {
			compares := s.Subject[j].measure.Compares()
			for k, l := range set {
				rate := s.tableRate(s.Subject[j].measure.rate.kind, l.of.class)
				if rate == "" || len(l.of.where) == 0 || k == 0 && s.Subject[j].measure.WithAll() {
					continue
				}
				if own.Rate != rate {
					list = own.appendTo(list)
					own = BoundGroups{Rate: rate}
				}
				own.Groups = append(own.Groups, nameOf(l.of.where))
			}
			if compares {
				list = own.appendTo(list)
				own = BoundGroups{}
			}
		}
		list = own.appendTo(list)
	}
	return list
}

// appendTo appends the groups to a list if there are several.
func (b BoundGroups) appendTo(list []BoundGroups) []BoundGroups {
	if len(b.Groups) < 2 {
		return list
	}
	return append(list, b)
}

// tableRate returns the name that tables of rates have for a rate of a class, or its complement; ""
// if they have neither.
func (s *System) tableRate(kind rateKind, class int) string {
	two := len(s.classes) == 2
	of := func(rate string) string {
		switch {
		case class >= 0 && !two:
			return rate + "[" + s.classes[class] + "]"
		case two && class != 0:
			if rate == string(kindRecall) {
				return string(kindTPR)
			}
			return rate
		}
		return ""
	}
	d, _ := kind.definition()
	switch d.table {
	case kindError:
		switch {
		case class < 0:
			return string(kindError)
		case two && class == 0:
			return string(kindFPR)
		}
		return of(string(kindRecall))
	case kindRecall, kindPrecision:
		return of(string(d.table))
	case kindFPR, kindPositiveRate:
		if two && class != 0 {
			return string(d.table)
		}
	}
	return ""
}
