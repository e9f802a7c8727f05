package config

import (
	"slices"

	"ppal/datasets"
	"ppal/internal/option"
	"ppal/trainer/session"
)

func (d *Data) options() []*option.Option {
	problem := option.Choice(option.NameProblem, &d.Problem,
		"choose what is bounded: mnpc: the losses of all classes but the first, multi-class Neyman-Pearson; dp, eo: the gaps between"+
			" two groups' rates, demographic parity and equalized odds; if: how much worse any group fares than all rows; rates, class-rates:"+
			" what --subject-to says, of tables and of pictures (a table or --subject-to implies them)",
		option.Problems()...).As("NAME").Reserve("ranking")
	source := session.DataOptions(&d.Dataset, &d.DataDir)
	source[0].Or("synthetic").
		For("synthetic-adult", option.Problem(option.DemographicParity, option.EqualizedOdds, option.Rates)).
		For("synthetic-communities", option.Problem(option.Intersectional))
	pictures := d.Pictures.Options()
	find(pictures, "normalize").For("none", option.Paper())
	return slices.Concat([]*option.Option{problem}, source, datasets.TableSettings(&d.Table), pictures)
}

// classes returns the choice of the classes.
func (d *Data) classes() *option.Option {
	return datasets.ClassesSetting(&d.Table).
		For("0,1,2,3,4,5,6,7,8,9", option.Problem(option.ClassRates), option.If(option.NameDataset, "fashion-mnist", "cifar10")).
		For(counts(session.DefaultClasses()), datasets.OnPictures())
}

// find returns the named option of the list.
func find(list []*option.Option, name string) *option.Option {
	return list[slices.IndexFunc(list, func(o *option.Option) bool { return o.Name == name })]
}
