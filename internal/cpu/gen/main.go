// It writes the kernels to several files name_amd64.s, the declarations of all kernels for Go code
// to declarations_amd64.go, and the dispatch tables to tables_amd64.go. The generator is a module
// of its own, so that the module with the kernels does not depend on the assembler library. The
// tests of the kernels are in package kernel; TestFresh, here, compares the files there with the
// output.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	flags := flag.NewFlagSet("gen", flag.ExitOnError) // the default set holds the assembler library's flags
	out := flags.String("out", "../kernel", "folder to write to")
	flags.Parse(os.Args[1:])
	if err := generate(*out); err != nil {
		log.Fatal(err)
	}
}

// generate writes all files to a folder.
func generate(dir string) error {
	d, declarations := newDispatch(), ir.NewFile()
	for _, f := range []struct {
		name  string
		bytes bool // kernels for 8-bit data
		emit  []func(asm)
	}{
		{"products", false, []func(asm){products}},
		{"functions", false, []func(asm){functionPasses}},
		{"elementwise", false, []func(asm){elementwise}},
		{"reductions", false, []func(asm){reductions}},
		{"vectors", false, []func(asm){vectors}},
		{"sparse", false, []func(asm){groups, sparseRows}},
		{"losses_sigmoid", false, []func(asm){sigmoidLoss}},
		{"losses_logistic", false, []func(asm){logisticLoss}},
		{"losses_hinge", false, []func(asm){hingeLoss}},
		{"narrow", false, []func(asm){narrow}},
		{"tails", false, []func(asm){tails}},
		{"tails_sigmoid", false, []func(asm){sigmoidFromTails}},
		{"tails_logistic", false, []func(asm){logisticFromTails}},
		{"rowsets", false, []func(asm){rowSets}},
		{"pairs", false, []func(asm){pairs}},
		{"pictures", false, []func(asm){pictures}},
		{"bytetiles", true, []func(asm){tilesOfBytes}},
		{"amxstrips", true, []func(asm){amxStrips}},
		{"amxsigmoid", true, []func(asm){amxActivated(0)}},
		{"amxtanh", true, []func(asm){amxActivated(1)}},
		{"amxrelu", true, []func(asm){amxActivated(2)}},
		{"amxbfloat16", true, []func(asm){amxBFloat16}},
		{"digits", true, []func(asm){digitKernels, bfloat16Digits}},
		{"derivatives", true, []func(asm){derivatives}},
	} {
		d.bytes = f.bytes
		file, err := compiled(d, f.emit)
		if err == nil {
			err = write(dir, f.name+"_amd64.s", printer.NewGoAsm, file)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		declarations.Constraints = file.Constraints
		declarations.Sections = append(declarations.Sections, file.Sections...)
	}
	if err := write(dir, declared, printer.NewStubs, declarations); err != nil {
		return err
	}
	return d.write(dir)
}

// declared is the name of the file with all declarations.
const declared = "declarations_amd64.go"

// compiled returns the kernels of one file for every target.
func compiled(d *dispatch, emit []func(asm)) (*ir.File, error) {
	c := build.NewContext()
	c.ConstraintExpr("amd64")
	shared := constants{}
	for _, t := range targets() {
		for _, e := range emit {
			e(asm{Context: c, target: t, constants: shared, dispatch: d})
		}
	}
	file, err := c.Result()
	if err != nil {
		return nil, err
	}
	return file, pass.Compile.Execute(file)
}

// write prints a file.
func write(dir, name string, form func(printer.Config) printer.Printer, file *ir.File) error {
	text, err := form(printer.Config{Name: "internal/cpu/gen", Pkg: "kernel"}).Print(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(dir, name), text, 0o644)
}
