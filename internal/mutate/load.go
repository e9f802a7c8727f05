package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mutant is one change of a package.
type mutant struct {
	id       int
	file     string // relative to the root of the module
	line     int
	function string
	change   string // "BEFORE => AFTER"
	outside  bool   // see outside in rules.go
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d %s: %s", m.file, m.line, m.function, m.change)
}

// key identifies the mutant independently of line numbers.
func (m *mutant) key() string { return fmt.Sprintf("%s %s: %s", m.file, m.function, m.change) }

// mutated is a package with all its mutants.
type mutated struct {
	path, name, dir string
	sources         map[string]string // the new text of each file, by its path
	mutants         []*mutant
}

// listed is what the go command says about a package.
type listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	Module                        *struct{ Dir string }
	DepOnly                       bool
}

// load reads and type-checks one package and inserts its mutants.
func load(pattern string) (*mutated, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,Module,DepOnly", pattern)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	exports := map[string]string{}
	var self *listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			if self != nil {
				return nil, fmt.Errorf("%s is more than one package", pattern)
			}
			self = p
		}
	}
	if self == nil || self.Module == nil {
		return nil, fmt.Errorf("%s is not a package of this module", pattern)
	}
	files := map[string]string{}
	for _, name := range self.GoFiles {
		path := filepath.Join(self.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[path] = string(text)
	}
	fset := token.NewFileSet()
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	p, err := mutate(fset, self.ImportPath, files, importer.ForCompiler(fset, "gc", open))
	if err != nil {
		return nil, err
	}
	p.dir = self.Dir
	for _, m := range p.mutants {
		if m.file, err = filepath.Rel(self.Module.Dir, m.file); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// mutate parses and type-checks the files of a package and inserts all mutants.
func mutate(fset *token.FileSet, path string, files map[string]string, imports types.Importer) (*mutated, error) {
	var parsed []*ast.File
	for name, text := range files {
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: imports}).Check(path, fset, parsed, info)
	if err != nil {
		return nil, err
	}
	p := &mutated{path: path, name: pkg.Name(), sources: map[string]string{}}
	sortFiles(fset, parsed)
	for _, f := range parsed {
		if ast.IsGenerated(f) {
			continue
		}
		name := fset.Position(f.Pos()).Filename
		w := &writer{fset: fset, info: info, pkg: pkg, file: f, name: name, text: files[name], next: len(p.mutants) + 1}
		p.sources[name] = w.write()
		p.mutants = append(p.mutants, w.mutants...)
	}
	return p, nil
}

// switchSource is the file that each mutated package gets. The variable PPAL_MUTANT is the active
// mutant. PPAL_MUTANT_TRACE names a file to which the program appends the ids of mutants that could
// change a result: the program executes their place, and the mutant's value is another value
// there, as far as the place can tell.
func switchSource(name string, mutants int) string {
	text := `package NAME

import (
	mutantOS "os"
	mutantStrconv "strconv"
	mutantAtomic "sync/atomic"
)

var (
	mutantID, _ = mutantStrconv.Atoi(mutantOS.Getenv("PPAL_MUTANT"))
	mutantTrace = mutantOS.Getenv("PPAL_MUTANT_TRACE")
	mutantSeen  [COUNT]mutantAtomic.Bool
)

// mutant reports whether a mutant is active.
func mutant(id int) bool { return id == mutantID || mutantTrace != "" && mutantReached(id) }

// mutantOr is the condition c, and true in the mutant.
func mutantOr[T ~bool](id int, c T) T {
	if mutantTrace != "" && !c {
		mutantReached(id)
	}
	return c || id == mutantID
}

// mutantAnd is the condition c, and false in the mutant.
func mutantAnd[T ~bool](id int, c T) T {
	if mutantTrace != "" && c {
		mutantReached(id)
	}
	return c && id != mutantID
}

// mutantNil is err, and nil in the mutant.
func mutantNil(id int, err error) error {
	if mutantTrace != "" && err != nil {
		mutantReached(id)
	}
	if id == mutantID {
		return nil
	}
	return err
}

//go:noinline
func mutantReached(id int) bool {
	if !mutantSeen[id].Load() && !mutantSeen[id].Swap(true) {
		if f, err := mutantOS.OpenFile(mutantTrace, mutantOS.O_WRONLY|mutantOS.O_APPEND|mutantOS.O_CREATE, 0o644); err == nil {
			f.WriteString(mutantStrconv.Itoa(id) + "\n")
			f.Close()
		}
	}
	return false
}
`
	return strings.NewReplacer("NAME", name, "COUNT", fmt.Sprint(mutants+1)).Replace(text)
}
