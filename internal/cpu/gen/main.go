// For every file of kernels it writes name_amd64.s and name_amd64.go, which has the declarations
// for Go code, and it writes the dispatch tables, tables_amd64.go. The generator is a module of its
// own, so that the module with the kernels does not depend on the assembler library. The tests of
// the kernels are in package kernel; TestFresh, here, compares the files there with the output.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
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
	d := newDispatch()
	for _, f := range []struct {
		name  string
		emit  func(asm)
		bytes bool // kernels for 8-bit data
	}{
		{"products", products, false},
		{"elementwise", elementwise, false},
		{"reductions", reductions, false},
		{"vectors", vectors, false},
		{"sparse_groups", groups, false},
		{"sparse_rows", sparseRows, false},
		{"losses_sigmoid", sigmoidLoss, false},
		{"losses_logistic", logisticLoss, false},
		{"losses_hinge", hingeLoss, false},
		{"narrow", narrow, false},
		{"tails", tails, false},
		{"tails_sigmoid", sigmoidFromTails, false},
		{"tails_logistic", logisticFromTails, false},
		{"rowsets", rowSets, false},
		{"bytetiles", tilesOfBytes, true},
		{"amxstrips", amxStrips, true},
		{"amxsigmoid", amxActivated(0), true},
		{"amxtanh", amxActivated(1), true},
		{"amxrelu", amxActivated(2), true},
		{"amxbfloat16", amxBFloat16, true},
		{"digits", digitKernels, true},
		{"bfloat16", bfloat16Digits, true},
		{"derivatives", derivatives, true},
	} {
		d.bytes = f.bytes
		if err := write(dir, f.name, d, f.emit); err != nil {
			return err
		}
	}
	return d.write(dir)
}

// write emits the kernels of one file for every target.
func write(dir, name string, d *dispatch, emit func(asm)) error {
	c := build.NewContext()
	c.ConstraintExpr("amd64")
	shared := constants{}
	for _, t := range targets() {
		emit(asm{Context: c, target: t, constants: shared, dispatch: d})
	}
	file, err := c.Result()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	cfg := printer.Config{Name: "internal/cpu/gen", Pkg: "kernel"}
	for ext, p := range map[string]printer.Printer{
		"s":  printer.NewGoAsm(cfg),
		"go": printer.NewStubs(cfg),
	} {
		text, err := p.Print(file)
		if err != nil {
			return fmt.Errorf("%s_amd64.%s: %w", name, ext, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"_amd64."+ext), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
