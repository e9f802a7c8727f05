package config

import (
	"slices"

	"ppal/datasets"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/trainer/session"
)

func (d *Data) options() []*option.Option {
	problem := option.Choice(option.NameProblem, &d.Problem,
		"choose what is bounded: mnpc: the losses of all classes but the first, multi-class Neyman-Pearson; dp, eo: the gaps between"+
			" two groups' rates, demographic parity and equalized odds; if: how much worse any group fares than all rows; rates, class-rates:"+
			" what --subject-to says, of tables and of pictures (a table or --subject-to implies them)",
		problems()...).As("NAME").Reserve("ranking")
	return slices.Concat([]*option.Option{problem}, session.DataOptions(&d.Dataset, &d.DataDir), datasets.TableSettings(&d.Table), d.Pictures.Options())
}

// classes returns the choice of the classes.
func (d *Data) classes() *option.Option {
	o := datasets.ClassesSetting(&d.Table)
	preset.Apply([]*option.Option{o})
	return o.For(counts(session.DefaultClasses()), datasets.OnPictures())
}

// find returns the named option of the list.
func find(list []*option.Option, name string) *option.Option {
	return list[slices.IndexFunc(list, func(o *option.Option) bool { return o.Name == name })]
}
