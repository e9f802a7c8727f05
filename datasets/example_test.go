package datasets_test

import (
	"fmt"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
)

// Two classes of the built-in set, 100 rows of each, standardised without a
// floating-point copy of the whole.
func Example() {
	train, _, err := datasets.LoadImages("", "synthetic", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	sel, err := picture.Select(train, []int{3, 0}, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	center, deviation := matrix.Moments(sel.Pixels)
	fmt.Println(sel.Names, sel.Offsets, train.Shape)
	fmt.Printf("center of pixel 0 %.2f, deviation %.2f\n", center[0], deviation)
	// Output:
	// [3 O] [0 100 200] 28x28
	// center of pixel 0 0.10, deviation 0.11
}

// Load a synthetic table, which needs no files, and print the size of each group in each part.
func ExampleLoadTable() {
	tables, err := datasets.LoadTable("", "synthetic-compas", tabular.TableOptions{Seed: 1, DropSensitive: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range tables.Parts() {
		_, features := p.Features.Dims()
		protected, rest, err := p.Partition()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %d features; %s %d, %s %d\n", p.Name, features, protected.Name, len(protected.Rows), rest.Name, len(rest.Rows))
	}
	// Output:
	// training: 10 features; race=African-American 2223, the rest 2097
	// validation: 10 features; race=African-American 476, the rest 450
	// test: 10 features; race=African-American 476, the rest 450
}
