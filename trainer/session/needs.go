package session

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
)

// needs returns the properties of the rows that the task's constraints use.
func (o *Options) needs() constraints.Needs {
	if t, ok := o.Task.(interface{ needs() constraints.Needs }); ok {
		return t.needs()
	}
	return constraints.Needs{}
}

// loadTable reads the table with the attributes that constraints name. A constraint may name a
// value without an attribute, such as Female. loadTable then finds the column that has the value
// as a category, and reads the table again.
func loadTable(dir, dataset string, options datasets.TableOptions, needs constraints.Needs) (*datasets.Tables, error) {
	options.Attributes = slices.Clone(options.Attributes)
	add := func(name string) bool {
		if slices.Contains(options.Attributes, name) {
			return false
		}
		options.Attributes = append(options.Attributes, name)
		return true
	}
	for _, name := range needs.Attributes {
		add(name)
	}
	t, err := datasets.LoadTable(dir, dataset, options)
	if err != nil {
		return nil, namesAttribute(err, needs)
	}
	again := false
	for _, value := range needs.Values {
		if slices.Contains(t.Train.Classes, value) || slices.ContainsFunc(t.Train.Attributes, func(a datasets.Attribute) bool { return slices.Contains(a.Values, value) }) {
			continue
		}
		for _, name := range columnsWith(t, value) {
			again = add(name) || again
		}
	}
	if again {
		t, err = datasets.LoadTable(dir, dataset, options)
	}
	return t, err
}

// columnsWith returns the columns that have the category.
func columnsWith(t *datasets.Tables, category string) (columns []string) {
	if t.Preparation != nil {
		for _, e := range t.Preparation.Encodings {
			if slices.ContainsFunc(e.Categories, func(c string) bool { return strings.EqualFold(c, category) }) {
				columns = append(columns, e.Column)
			}
		}
	}
	for _, feature := range t.Train.Columns {
		name, value, found := strings.Cut(feature, "=")
		if found && strings.EqualFold(value, category) && !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	return columns
}

// namesAttribute extends an error about an attribute that the table lacks. The new error also
// names the constraint.
func namesAttribute(err error, needs constraints.Needs) error {
	if !errors.Is(err, datasets.ErrGroup) && !errors.Is(err, datasets.ErrColumn) {
		return err
	}
	for k, name := range needs.Attributes {
		if _, hint, found := strings.Cut(err.Error(), "no column "+strconv.Quote(name)+"; "); found {
			return needs.UnknownAttribute(k, hint)
		}
	}
	return err
}

// addEarlier adds earlier decisions to the splits of a table, from the files that churn
// constraints name.
func (l *loaded) addEarlier(t *datasets.Tables, files []string) error {
	for _, file := range files {
		decisions, err := readDecisions(file, t.Train.Classes, t.Label)
		if err != nil {
			return err
		}
		for k, part := range t.Parts() {
			of := make([]int, len(part.Source))
			found := 0
			for i, row := range part.Source {
				of[i] = -1
				if d, ok := decisions[row+1]; ok {
					of[i] = d
					found++
				}
			}
			if found == 0 {
				return fmt.Errorf("session: %s: no decision is of a %s row; want the rows' numbers in the data file, from 1, in the column row", file, part.Name)
			}
			r := &l.splits[k].rows
			if r.earlier == nil {
				r.earlier = map[string][]int{}
			}
			r.earlier[file] = of
			r.strata = r.byGroupAndLabel()
		}
	}
	return nil
}

// readDecisions reads a file of earlier decisions in the format of ppal predict: text with the
// column row, from 1, and the column decision or class. The column holds a value of the label or
// the name of a class. The result maps a row to the index of the row's class.
func readDecisions(file string, classes []string, label datasets.Label) (map[int]int, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("session: earlier decisions: %w", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("session: earlier decisions: %s: %w", file, err)
	}
	row, decision := slices.Index(header, "row"), slices.Index(header, "decision")
	if decision < 0 {
		decision = slices.Index(header, "class")
	}
	if row < 0 || decision < 0 {
		return nil, fmt.Errorf("session: earlier decisions: %s: want the columns row and decision, as ppal predict writes them; the columns are %s",
			file, strings.Join(header, ", "))
	}
	decisions := map[int]int{}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return decisions, nil
		}
		if err != nil {
			return nil, fmt.Errorf("session: earlier decisions: %s: %w", file, err)
		}
		line, _ := r.FieldPos(0)
		n, err := strconv.Atoi(record[row])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("session: earlier decisions: %s:%d: row is %q, want a number from 1", file, line, record[row])
		}
		class := slices.Index(classes, record[decision])
		values := label.Values()
		if class < 0 {
			class = slices.Index(values, record[decision])
		}
		if class < 0 {
			return nil, fmt.Errorf("session: earlier decisions: %s:%d: decision is %q, want one of %s",
				file, line, record[decision], strings.Join(slices.Concat(values, classes), ", "))
		}
		if _, twice := decisions[n]; twice {
			return nil, fmt.Errorf("session: earlier decisions: %s:%d: row %d has a decision already", file, line, n)
		}
		decisions[n] = class
	}
}
