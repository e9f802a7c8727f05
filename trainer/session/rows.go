package session

import "ppal/trainer/session/internal/load"

// rowsOf returns the labels, classes and groups for a task.
func rowsOf(r load.Rows) Rows {
	classes := make([]Class, len(r.Classes))
	for k, c := range r.Classes {
		classes[k] = Class(c)
	}
	return Rows{Labels: r.Labels, Classes: classes, Groups: r.Groups, Attributes: r.Attributes, Earlier: r.Earlier, Queries: r.Queries, Tabular: r.Tabular}
}
