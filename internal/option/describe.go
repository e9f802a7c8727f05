package option

import (
	"reflect"
	"slices"
)

// described has for each type of pointer the function that returns the settings of a value.
var described = map[reflect.Type]func(x any) []*Option{}

// Describe sets what Of returns for a pointer to a T. A package calls Describe in init for each of
// its types with settings, so that the types need no exported method that returns options.
func Describe[T any](settings func(*T) []*Option) {
	DescribeLike((*T)(nil), func(x any) []*Option { return settings(x.(*T)) })
}

// DescribeLike sets what Of returns for values of the type of x.
func DescribeLike(x any, settings func(x any) []*Option) { described[reflect.TypeOf(x)] = settings }

// Amend lets change edit what Of returns for a pointer to a T.
func Amend[T any](change func(list []*Option)) {
	settings := described[reflect.TypeFor[*T]()]
	DescribeLike((*T)(nil), func(x any) []*Option {
		list := settings(x)
		change(list)
		return list
	})
}

// Of returns the settings of the value to which x points, bound to its fields. It returns nil for a
// type that no package describes.
func Of(x any) []*Option {
	if settings := described[reflect.TypeOf(x)]; settings != nil {
		return settings(x)
	}
	return nil
}

// Select returns the options with the given names.
func Select(list []*Option, names ...string) (selected []*Option) {
	for _, o := range list {
		if slices.Contains(names, o.Name) {
			selected = append(selected, o)
		}
	}
	return selected
}
