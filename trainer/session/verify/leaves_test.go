package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/trainer/session"
)

// leaf is a number, a text or a truth value of a JSON file, with the path of its keys.
type leaf struct {
	path string
	set  func(v any)
	old  any
}

// leaves lists the leaves of a JSON value. Of a list of more than 3 elements, it lists the leaves
// of the first, the second and the last.
func leaves(path string, v any, set func(any)) (list []leaf) {
	switch v := v.(type) {
	case map[string]any:
		for key, own := range v {
			list = append(list, leaves(path+"."+key, own, func(x any) { v[key] = x })...)
		}
	case []any:
		for k, own := range v {
			if k < 2 || k == len(v)-1 {
				list = append(list, leaves(fmt.Sprintf("%s[%d]", path, k), own, func(x any) { v[k] = x })...)
			}
		}
	default:
		list = append(list, leaf{strings.TrimPrefix(path, "."), set, v})
	}
	return list
}

// forged returns other values for a leaf: a number that differs by more than a rounding error,
// another text, the opposite, and a number instead of null.
func forged(old any) []any {
	switch v := old.(type) {
	case json.Number:
		x, _ := v.Float64()
		if !strings.ContainsAny(string(v), ".e") {
			return []any{x + 1}
		}
		if math.Abs(x) < 1e-4 {
			return []any{x + 1e-2} // no number reads as 0
		}
		return []any{x * 1.01, nil}
	case string:
		return []any{v + " more"}
	case bool:
		return []any{!v}
	}
	return []any{0.25}
}

// reseal writes a JSON file with a new checksum of its own.
func reseal(t *testing.T, path string, v any) {
	t.Helper()
	text := require.Value(json.MarshalIndent(v, "", "  "))(t)
	text = regexp.MustCompile(`"checksum": "\w+"`).ReplaceAll(text, []byte(`"checksum": "`+disk.BlankSum+`"`))
	if bytes.Contains(text, []byte(disk.BlankSum)) {
		disk.Seal(text)
	}
	require.NoError(t, os.WriteFile(path, text, 0o644))
}

// Every leaf of summary.json that is changed, with a new checksum, is found, or one of its keys is
// named among what was not checked.
func TestEveryLeafOfSummary(t *testing.T) {
	require.NoRace(t, "it verifies many runs")
	names := []string{"gap", "dp"}
	if !testing.Short() {
		names = []string{"gap", "mnpc l1", "classes", "promise", "impossible", "eo max", "dp"}
	}
	list := runs(t)
	// The checks of rates and times know no task: a run with two classes and one with three show them.
	// Two runs with different tasks show the other kinds of leaves.
	common, shows := map[string]bool{}, map[string]int{}
	const most = 2
	for _, name := range names {
		options := func() session.Options {
			o := list[name]()
			o.Settings.RecordEvery = o.Settings.Iterations // each check reads the records
			return o
		}
		t.Run(name, func(t *testing.T) {
			dir := trained(t, options())
			text := require.Value(os.ReadFile(dir.Summary()))(t)
			read := func() (v map[string]any) {
				in := json.NewDecoder(bytes.NewReader(text))
				in.UseNumber()
				require.NoError(t, in.Decode(&v))
				return v
			}
			seen := map[string]bool{}
			for _, l := range leaves("", read(), nil) {
				kind := regexp.MustCompile(`\[\d+\]`).ReplaceAllString(l.path, "[]") + fmt.Sprintf(" %T", l.old)
				shown := seen
				if strings.HasPrefix(kind, "rates.") || strings.HasPrefix(kind, "seconds") {
					shown, kind = common, fmt.Sprint(kind, name == "classes" || name == "mnpc l1")
				}
				if shown[kind] || shows[kind] == most || l.path == "checksum" || strings.HasPrefix(l.path, "files.") {
					continue
				}
				shown[kind] = true
				shows[kind]++
				changes := forged(l.old)
				if x, ok := l.old.(json.Number); ok && strings.HasPrefix(l.path, "infeasibility.") {
					v := require.Value(x.Float64())(t) // the proof's gradients are of the device: proofTolerance
					changes = []any{3*v + 1e-2}
				}
				for _, v := range changes {
					s := read()
					for _, other := range leaves("", s, nil) {
						if other.path == l.path {
							other.set(v)
						}
					}
					reseal(t, dir.Summary(), s)
					r, err := RunConfig(string(dir), reading(options()))
					if err != nil || !r.Verified || notChecked(r, l.path) {
						continue
					}
					t.Errorf("%s: %v instead of %v is verified", l.path, v, l.old)
				}
			}
		})
	}
}

// notChecked reports whether the report names the leaf or a part of its path among the claims that
// were not checked.
func notChecked(r *Report, path string) bool {
	names := strings.FieldsFunc(path, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
	for _, s := range r.Skipped {
		keys, _, _ := strings.Cut(s, ": ")
		for _, key := range strings.Split(keys, ", ") {
			if key == path || key == names[0] || len(names) > 1 && key == names[0]+"."+names[1] {
				return true
			}
		}
	}
	return false
}
