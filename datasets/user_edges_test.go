package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/inputfile"
	"ppal/internal/loader"
)

// The class +1 of two values is the larger number or the word that means yes, and otherwise in
// doubt.
func TestPositiveClass(t *testing.T) {
	for _, tc := range []struct{ first, second, want string }{
		{"0", "1", "1"}, {"10", "9", "10"}, {"-5", "a", ""}, {"-", "5", ""}, {"+", "-5", ""}, {"5", "a", ""}, {"1", "1.0", ""}, {"a", "b", ""},
		{"no", "yes", "yes"}, {"T", "f", "T"}, {"true", "yes", ""}, {"Y", "n", "Y"}, {"F", "true", "true"},
	} {
		got, err := (&loader.UserTable{Label: "y"}).PositiveClass([]string{tc.first, tc.second})
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s and %s: %q, %v, want %q", tc.first, tc.second, got, err, tc.want)
		}
	}
	for _, tc := range []struct {
		values []string
		given  string
		want   string
	}{
		{[]string{"0", "1"}, "0", "0"}, {[]string{"0", "1"}, "1.0", "1"}, {[]string{"0", "1"}, "zero", ""}, {[]string{"no", "yes"}, "0.0", ""}, {[]string{"no", "5"}, "0.0", ""},
		{[]string{"1", "1.0"}, "1.00", ""}, {[]string{"1", "1.0"}, "1.0", "1.0"},
	} {
		got, err := loader.GivenClass(tc.values, tc.given)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s of %q: %q, %v, want %q", tc.given, tc.values, got, err, tc.want)
		}
	}
}

// The numbers of classes up to the limits are accepted.
func TestMostClasses(t *testing.T) {
	names := func(n int, form string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(form, i))
		}
		return list
	}
	own := &loader.UserTable{Label: "y", Opts: &tabular.TableOptions{}}
	for _, tc := range []struct {
		values []string
		ok     bool
	}{
		{names(loader.MostNumberedClasses, "%d"), true}, {names(loader.MostNumberedClasses+1, "%d"), false}, {names(loader.MostClasses, "c%d"), true}, {names(loader.MostClasses+1, "c%d"), false},
		{append(names(loader.MostNumberedClasses, "%d"), "x"), true},
	} {
		if c, err := own.LabelClasses(tc.values); (err == nil) != tc.ok || tc.ok && len(c.Several) != len(tc.values) {
			t.Errorf("%d values: %d classes, %v", len(tc.values), len(c.Several), err)
		}
	}
	for n, ok := range map[int]bool{1: false, 2: true, loader.MostClasses: true, loader.MostClasses + 1: false} {
		if several, err := loader.ChosenClasses(names(200, "c%d"), names(n, "c%d")); (err == nil) != ok || ok && len(several) != n {
			t.Errorf("%d chosen classes: %v", n, err)
		}
	}
	for _, tc := range [][2][]string{ // the values, and the classes
		{{"10", "9", "-1", "1e0"}, {"-1", "1e0", "9", "10"}}, {{"10", "9", "a", "-1"}, {"-1", "10", "9", "a"}},
	} {
		if c, err := own.LabelClasses(tc[0]); err != nil || !slices.Equal(c.Several, tc[1]) {
			t.Errorf("%q: %q, %v", tc[0], c.Several, err)
		}
	}
}

// A label names a column, or a column and a value, or a condition.
func TestFindLabel(t *testing.T) {
	header := []string{"x", "y", "a=b"}
	for _, tc := range []struct {
		label, column, positive, when string
		classes                       []string
		err                           string
	}{
		{label: "y", column: "y"}, {label: "a=b", column: "a=b"}, {label: "y=1", column: "y", positive: "1"}, {label: "y = big cat ", column: "y", positive: "big cat"},
		{label: "y>=3", column: "y", when: "y>=3"}, {label: "1<y<=3", column: "y", when: "1<y<=3"}, {label: "y=", err: "want a value after ="},
		{label: "z", err: `no column "z"`}, {label: "z", classes: []string{"1", "2"}, err: `no column "z"`}, {label: "z>3", err: `no column "z"`},
		{label: "1<y=3", err: "want an interval, as in 25<=age<60"},
		{label: "y", classes: []string{"1", "2"}, column: "y"}, {label: "y=1", classes: []string{"1", "2"}, err: "--classes needs a label without a value"},
	} {
		own := &loader.UserTable{Header: header, Opts: &tabular.TableOptions{Label: tc.label, Classes: tc.classes}}
		err := own.FindLabel()
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v, want %s", tc.label, err, tc.err)
			}
			continue
		}
		when := ""
		if own.When != nil {
			when = own.When.Text
		}
		if err != nil || own.Label != tc.column || own.Positive != tc.positive || when != tc.when {
			t.Errorf("%s: column %q, value %q, condition %q, %v", tc.label, own.Label, own.Positive, when, err)
		}
	}
}

// Categories and labels say nothing about the decimal sign of numbers.
func TestDecimalSignOfCategories(t *testing.T) {
	text := "size;mass;y\n1,5;1,234;0\n2,5;2,345;1\n"
	for name, tc := range map[string]struct {
		opts tabular.TableOptions
		ok   bool
	}{
		"numbers":    {tabular.TableOptions{Label: "y"}, true},
		"categories": {tabular.TableOptions{Label: "y", Categorical: []string{"size"}}, false},
		"a label":    {tabular.TableOptions{Label: "size=1,5"}, false},
	} {
		got, err := everything(t, text, tc.opts)
		if tc.ok {
			if err != nil || got.Preparation.Encodings[1].Center != (1.234+2.345)/2 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		datatest.CheckError(t, err, dataerr.ErrColumn, "which has two readings")
	}
}

// The categories of a column are counted over all chunks: one more than the limit, in a later
// chunk, is too many.
func TestCategoriesOverChunks(t *testing.T) {
	for extra, ok := range map[int]bool{0: true, 1: false} {
		var text strings.Builder
		text.WriteString("c,y\n")
		for i := range 4000 {
			k := i % columnar.MaxCategories
			if i > 3900 {
				k += extra
			}
			fmt.Fprintf(&text, "category %0200d,%d\n", k, i%2)
		}
		got, err := everything(t, text.String(), tabular.TableOptions{Label: "y"})
		if !ok {
			datatest.CheckError(t, err, dataerr.ErrColumn, `"c": it has more than 1000 different texts in 4000 rows`)
		} else if err != nil || len(got.Preparation.Encodings[0].Categories) != columnar.MaxCategories {
			t.Errorf("%d categories: %v", columnar.MaxCategories, err)
		}
	}
}

// A pipe's content goes to a file without a name if it is larger than the limit.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for size, inFile := range map[int]bool{0: false, 9: false, 10: false, 11: true, 50: true} {
		want := strings.Repeat("ab\n", 20)[:size]
		kept, err := inputfile.NewSpool(strings.NewReader(want), 10)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(kept.Reader())
		if err != nil || string(got) != want || (kept.File != nil) != inFile {
			t.Errorf("%d bytes: %q in a file: %t, %v", size, got, kept.File != nil, err)
		}
		if kept.File != nil {
			kept.File.Close()
		}
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
			t.Errorf("%d bytes: left %v, %v", size, left, err)
		}
	}
}

// An error after the part that stays in memory is an error.
func TestSpoolError(t *testing.T) {
	fire := errors.New("disk on fire")
	for _, text := range []string{"abc", strings.Repeat("ab\n", 20)} {
		if _, err := inputfile.NewSpool(io.MultiReader(strings.NewReader(text), iotest.ErrReader(fire)), 10); err != fire {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

// A pipe without line ends, such as /dev/zero, is refused once its content does not fit in memory.
// An endless pipe with lines is read until the context is cancelled. Neither leaves a file.
func TestSpoolEndless(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := inputfile.NewSpool(again("0"), 1<<16); !errors.Is(err, dataerr.ErrFormat) || !strings.Contains(err.Error(), "no line ends in the first 65536 bytes") {
		t.Errorf("without lines: %v", err)
	}
	if _, err := inputfile.NewSpool(strings.NewReader("\n"+strings.Repeat("0", 20)), 10); err != nil {
		t.Errorf("an empty first line: %v", err)
	}
	interrupt := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	of := inputfile.Spools{Of: map[string]*inputfile.Spool{}}
	at := 0
	_, err := of.Open(ctx, "endless", func() (io.ReadCloser, error) {
		return io.NopCloser(readerFunc(func(p []byte) (int, error) {
			if at++; at == 1000 {
				cancel(interrupt)
			}
			return copy(p, "0\n"), nil
		})), nil
	})
	if !errors.Is(err, interrupt) || len(of.Of) > 0 {
		t.Errorf("with lines: %v, kept %v", err, of.Of)
	}
	_, err = of.Open(t.Context(), "broken", func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(io.ErrClosedPipe)), nil })
	datatest.CheckError(t, err, io.ErrClosedPipe, "broken: ")
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// readerFunc is a reader that calls the function.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Standard input is read once and kept; reading ends with the context.
func TestStandardInput(t *testing.T) {
	stdin := os.Stdin
	defer func() { os.Stdin = stdin; delete(inputfile.Pipes.Of, inputfile.StandardInput) }()
	var err error
	if os.Stdin, err = os.Open(datatest.Write(t, t.TempDir(), "in", []byte("a,b\n"))); err != nil {
		t.Fatal(err)
	}
	defer os.Stdin.Close()
	ctx, cancel := context.WithCancel(context.Background())
	for range 2 {
		in, err := inputfile.OpenUntilDone(ctx, inputfile.StandardInput)
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 2)
		if _, err := in.ReadAt(part, 1); err != nil || string(part) != ",b" {
			t.Errorf("%q, %v", part, err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != "a,b\n" {
			t.Errorf("%q, %v", got, err)
		}
		defer func() {
			if _, err := in.ReadAt(part, 0); err != context.Canceled {
				t.Error(err)
			}
			if _, err := in.Read(part); err != context.Canceled {
				t.Error(err)
			}
		}()
	}
	cancel()
	in, err := inputfile.OpenUntilDone(t.Context(), inputfile.StandardInput)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(in); err != nil || cmp.Diff("a,b\n", string(got)) != "" {
		t.Errorf("%q, %v", got, err)
	}
}
