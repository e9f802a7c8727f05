package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/png"
	"math"

	"ppal/internal/chart"
	"ppal/internal/option"
	"ppal/trainer/session/results"
)

// examplesView shows rows that the model decides wrongly.
type examplesView struct {
	Split   string
	Columns []string
	Classes []exampleClass
	Picture bool
}

type exampleClass struct {
	Class, Text string
	List        []example
}

type example struct {
	Row            int
	Decided, Score string
	Values         []string
	Picture        template.URL // a data URL that newExamples has made of a valid PNG file
}

// newExamples returns the examples; nil if there are none.
func newExamples(e *results.Examples) *examplesView {
	if e == nil {
		return nil
	}
	v := &examplesView{Split: e.Split.Word(), Columns: e.Columns, Picture: e.Columns == nil}
	for _, c := range e.Classes {
		own := exampleClass{Class: c.Class, Text: fmt.Sprintf("%s of %s decided wrongly (%s)", rowCount(c.Wrong), option.Counted(c.Rows, "row"), chart.Percent(float64(c.Wrong)/float64(max(1, c.Rows))))}
		for _, x := range c.List {
			row := example{Row: x.Row, Decided: x.Decided, Score: chart.Number(x.Score), Values: x.Values}
			if v.Picture {
				if _, err := png.DecodeConfig(bytes.NewReader(x.Picture)); err != nil {
					continue
				}
				row.Picture = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(x.Picture))
			}
			own.List = append(own.List, row)
		}
		v.Classes = append(v.Classes, own)
	}
	return v
}

// dataView shows the sizes of the splits, classes and groups.
type dataView struct {
	Facts      []Fact
	Validation bool
	Parts      []dataPart
}

type dataPart struct {
	Name string
	Rows []dataRow
}

type dataRow struct {
	Name                    string
	Train, Validation, Test string
	Share                   float64 // of the largest row of the part, in percent
}

// mostSizes is the largest number of groups in the table of sizes.
const mostSizes = 40

// data returns the sizes.
func (r *run) data() dataView {
	p := &r.provenance
	v := dataView{}
	all := results.SplitSizes{Name: "all rows"}
	for _, c := range p.Classes {
		all.Train, all.Validation, all.Test = all.Train+c.Train, all.Validation+c.Validation, all.Test+c.Test
	}
	if all.Train > 0 {
		v.Parts = append(v.Parts, sizes("Rows", []results.SplitSizes{all}, 0), sizes("Classes", p.Classes, all.Train))
		v.Facts = append(v.Facts, Fact{"training rows", rowCount(all.Train), ""})
	}
	if len(p.Groups) > 0 {
		v.Parts = append(v.Parts, sizes("Groups", p.Groups, all.Train))
	}
	v.Validation = all.Validation > 0
	if p.Features > 0 {
		v.Facts = append(v.Facts, Fact{"features", rowCount(p.Features), ""}, Fact{"parameters", rowCount(p.Parameters), ""})
	}
	for _, f := range []Fact{{"normalisation", p.Normalization, ""}, {"products", p.Products, ""}, {"device", p.Device, ""}} {
		if f.Value != "" {
			v.Facts = append(v.Facts, f)
		}
	}
	return v
}

func sizes(name string, list []results.SplitSizes, all int) dataPart {
	part := dataPart{Name: name}
	if len(list) > mostSizes {
		part.Name = fmt.Sprintf("%s (the first %d of %d)", name, mostSizes, len(list))
		list = list[:mostSizes]
	}
	for _, s := range list {
		row := dataRow{s.Name, rowCount(s.Train), rowCount(s.Validation), rowCount(s.Test), 0}
		if all > 0 {
			row.Share = math.Round(1000*float64(s.Train)/float64(all)) / 10
		}
		part.Rows = append(part.Rows, row)
	}
	return part
}
