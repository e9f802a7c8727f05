package load

import (
	"fmt"

	"ppal/internal/loader"
	"ppal/trainer/session/results"
)

// addEarlier adds the earlier decisions of the files that churn constraints name to the splits. A
// row number in such a file counts the rows of all files of a table, or the rows of the training
// set of pictures. Test pictures have no earlier decisions.
func (l *Data) addEarlier(files []string) error {
	for _, file := range files {
		decisions, err := loader.ReadDecisions(file, l.classTexts()...)
		if err != nil {
			return fmt.Errorf("session: earlier decisions: %w", err)
		}
		for _, split := range l.Splits {
			r := &split.Rows
			pictures := !r.Tabular && split.Name == results.Test
			classes := make([]int, r.Len())
			found := 0
			for i := range classes {
				classes[i] = -1
				if i >= len(r.Source) || pictures {
					continue
				}
				if d, ok := decisions[r.Source[i]]; ok {
					classes[i] = d
					found++
				}
			}
			if found == 0 && !pictures {
				return fmt.Errorf("session: %w: %s: no decision is of a %s row; the column row must have the numbers of rows in the data file, from 1",
					ErrOptions, file, split.Name.Word())
			}
			if r.Earlier == nil {
				r.Earlier = map[string][]int{}
			}
			r.Earlier[file] = classes
			r.strata = nil // the pictures' classes
		}
	}
	return nil
}

// classTexts returns the texts for each class in files of decisions.
func (l *Data) classTexts() (texts [][]string) {
	for k, c := range l.Splits[0].Classes {
		names := []string{c.Name}
		if l.Label != nil {
			names = append(names, l.Label.Values()[k])
		}
		texts = append(texts, names)
	}
	return texts
}
