package session

import (
	"errors"
	"testing"
)

// Every fault of a flag refuses the task.
func TestFlagsOfTasks(t *testing.T) {
	x, n := 0.0, 0
	good := Flag{Name: "own-x", Help: "set x", Default: "2", Value: &x, Low: 1, High: 3}
	for name, change := range map[string]func(f *Flag){
		"another name":       func(f *Flag) { f.Name = "x" },
		"large letters":      func(f *Flag) { f.Name = "own-X" },
		"no help":            func(f *Flag) { f.Help = "" },
		"outside of a range": func(f *Flag) { f.Default = "4" },
		"no number":          func(f *Flag) { f.Default = "" },
		"a fraction":         func(f *Flag) { f.Value, f.Default = &n, "1.5" },
		"another word":       func(f *Flag) { f.Value, f.Words = new(string), []string{"a", "b"} },
		"on by default":      func(f *Flag) { f.Value, f.Default = new(bool), "true" },
		"no variable":        func(f *Flag) { f.Value = x },
	} {
		f := good
		change(&f)
		if err := RegisterTask(TaskDescription{Name: "own", New: func() Task { return flagged{f} }}); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := RegisterTask(TaskDescription{Name: "own", New: func() Task { return flagged{good, good} }}); !errors.Is(err, ErrOptions) {
		t.Errorf("a flag twice: error %v", err)
	}
	if err := RegisterTask(TaskDescription{Name: "record", New: func() Task { return flagged{{Name: "record-every", Help: "set x", Default: "2", Value: &n}} }}); !errors.Is(err, ErrOptions) {
		t.Errorf("a flag of the run: error %v", err)
	}
	list := taskOptions(flagged{good, {Name: "own-word", Help: "say a word", Default: "b", Value: new(string), Words: []string{"a", "b"}}})
	if len(list) != 2 || list[0].Set("0.5") == nil || list[0].Set("3") != nil || x != 3 || list[1].PlainDefault() != "b" {
		t.Errorf("%+v, x = %v, %q", list, x, list[1].PlainDefault())
	}
}

// flagged is a task with these flags.
type flagged []Flag

func (flagged) State(Rows, bool) (*Statement, error) { return fit(1), nil }
func (f flagged) Flags() []Flag                      { return f }
