package kernels

import (
	"regexp"
	"strings"
)

// Entry is a kernel of a module: its name and the bytes of each of its parameters.
type Entry struct {
	Name   string
	Params []int
}

var (
	entryPattern = regexp.MustCompile(`\.visible \.entry (\w+)\(([^)]*)\)`)
	paramPattern = regexp.MustCompile(`\.param \.[ubsf](\d+) `)
	paramSizes   = map[string]int{"8": 1, "16": 2, "32": 4, "64": 8}
)

// Entries lists the kernels of a module's PTX in their order.
func Entries(ptx string) []Entry {
	var list []Entry
	for _, m := range entryPattern.FindAllStringSubmatch(ptx, -1) {
		e := Entry{Name: m[1]}
		for _, p := range paramPattern.FindAllStringSubmatch(strings.TrimSpace(m[2]), -1) {
			e.Params = append(e.Params, paramSizes[p[1]])
		}
		list = append(list, e)
	}
	return list
}
