package kernels

import "strings"

// Entry is a kernel of a module: the name, and the size of each parameter in bytes.
type Entry struct {
	Name   string
	Params []int
}

// paramBytes holds the sizes of the parameter types.
var paramBytes = map[string]int{".u8": 1, ".s8": 1, ".b8": 1, ".u16": 2, ".s16": 2, ".b16": 2, ".u32": 4, ".s32": 4, ".b32": 4, ".f32": 4,
	".u64": 8, ".s64": 8, ".b64": 8, ".f64": 8}

// Entries lists the kernels of a module's PTX in order. A parameter that is neither a number nor an
// address has size 0.
func Entries(ptx string) []Entry {
	const begin = ".visible .entry "
	var list []Entry
	for {
		_, rest, ok := strings.Cut(ptx, begin)
		if !ok {
			return list
		}
		name, rest, _ := strings.Cut(rest, "(")
		params, rest, _ := strings.Cut(rest, ")")
		e := Entry{Name: strings.TrimSpace(name)}
		for p := range strings.SplitSeq(params, ",") {
			if fields := strings.Fields(p); len(fields) > 1 && fields[0] == ".param" {
				e.Params = append(e.Params, paramBytes[fields[1]])
			}
		}
		list = append(list, e)
		ptx = rest
	}
}
