package config

import (
	"slices"
	"strings"

	"ppal/datasets"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/trainer/session"
)

func (d *Data) options() []*option.Option {
	var names, texts []string
	for _, t := range session.Tasks() {
		names, texts = append(names, t.Name), append(texts, t.Name+": "+t.Summary)
	}
	problem := option.Choice(option.NameProblem, &d.Problem, "choose what is bounded: "+strings.Join(texts, "; "), names...).Or(session.DefaultTask).As("NAME")
	tables := option.Of(&d.Table) // the last has another group: classes
	return slices.Concat([]*option.Option{problem}, option.DataSet(datasets.Names(nil), &d.Dataset, &d.DataDir), tables[:len(tables)-1], option.Of(&d.Pictures))
}

// classes returns the choice of the classes.
func (d *Data) classes() *option.Option {
	o := find(option.Of(&d.Table), "classes")
	preset.Apply([]*option.Option{o})
	return o.For(counts(session.DefaultClasses()), option.OnDataSet("pictures", datasets.PictureSets()...))
}

// find returns the named option of the list, or nil.
func find(list []*option.Option, name string) *option.Option {
	for _, o := range list {
		if o.Name == name {
			return o
		}
	}
	return nil
}
