package suite

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// List returns the problems as a table for a terminal.
func List() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "problem\tfamily\tseed\tdtype\tuse")
	for _, p := range problems() {
		dtype, use := "float32", "tuning"
		if p.Float64 {
			dtype = "float64"
		}
		if p.HeldOut {
			use = "held out"
		}
		if p.Quick {
			use += ", quick"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", p.Name, p.Family, p.Seed, dtype, use)
	}
	w.Flush() // the builder returns no error
	return b.String()
}
