package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/step"
)

// The pixels of own pictures are those of datasets.LoadTable. The first load keeps them, and later
// loads read the kept file, unless it is damaged or a picture has changed.
func TestPictureFiles(t *testing.T) {
	folder, dir, r := t.TempDir(), t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for k, class := range []string{"across", "down"} {
		for i := range 20 {
			datatest.Write(t, folder, fmt.Sprintf("%s/%02d.png", class, i), datatest.PNG(t, datatest.Bars(r, k, 6, 5)))
		}
	}
	source := PictureFiles{Dir: dir, TableOptions: tabular.TableOptions{File: folder, Label: "class=down", Seed: 3, Split: tabular.Split{Train: 50, Validation: 25, Test: 25}}}
	read := func(note string) *load.Data {
		t.Helper()
		l := require.Value(source.Load(t.Context(), Request{load.Request{Dtype: tensor.Float64}}))(t)
		if notes := fmt.Sprint(l.rows.KeptNotes); !strings.Contains(notes, note) || note == "" && notes != "[]" {
			t.Errorf("notes %s, want %q", notes, note)
		}
		return l.rows
	}
	check := func(l *load.Data) {
		t.Helper()
		want := require.Value(datasets.LoadTable("", datasets.Pictures, source.TableOptions))(t)
		for k, p := range want.Parts() {
			if got := l.Splits[k].Data.(*matrix.Bytes); string(got.Data) != string(p.Features.(*matrix.Bytes).Data) || fmt.Sprint(l.Splits[k].Labels) != fmt.Sprint(p.Labels) {
				t.Errorf("the %s rows differ", p.Name)
			}
		}
	}
	first := read("are kept for later runs")
	check(first)
	if first.Shape.Height != 6 || first.Shape.Width != 5 || first.Shape.Channels != 1 || len(first.Center) != 30 || first.Normalization.Deviation == 0 {
		t.Errorf("shape %v, normalization %+v", first.Shape, first.Normalization)
	}
	check(read(""))
	kept, err := filepath.Glob(filepath.Join(dir, "pictures", "*.rows"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept files %v, %v", kept, err)
	}
	content := require.Value(os.ReadFile(kept[0]))(t)
	content[100]++
	require.NoError(t, os.Remove(kept[0]))
	require.NoError(t, os.WriteFile(kept[0], content, 0o400))
	check(read("cannot be used"))
	datatest.Write(t, folder, "down/03.png", datatest.PNG(t, datatest.Bars(r, 1, 6, 5)))
	changed := read("are kept for later runs")
	check(changed)
	if changed.Description.Data[0].SHA256 == first.Description.Data[0].SHA256 {
		t.Error("a changed picture has the same checksum")
	}
	source.Dir = datatest.Write(t, dir, "file", nil) // not a directory
	check(read("are not kept for later runs"))
}

// Processes that share the rows keep their own pixels, and the run is that of one process.
func TestProcessesKeepTheirPictureFiles(t *testing.T) {
	require.NoRace(t, "internal/cpu and internal/ranks run the same goroutines")
	folder, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for k, class := range []string{"across", "down", "dark"} {
		for i := range 30 {
			datatest.Write(t, folder, fmt.Sprintf("%s/%02d.png", class, i), datatest.PNG(t, datatest.Bars(r, k, 6, 5)))
		}
	}
	o := Options{Data: PictureFiles{Dir: t.TempDir(), TableOptions: tabular.TableOptions{File: folder, Classes: []string{"down", "dark"}}}, Task: NeymanPearson{Kappa: []float64{0.3}},
		Model: &models.Spec{Hidden: []int{6}}, Device: Device{Kind: CPU, Dtype: tensor.Float64},
		Method: &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}}}
	o.Settings.Iterations, o.Settings.RecordEvery, o.Settings.Seed = 4, 2, 1
	one := traceOn(t, o, 1)
	if diff := cmp.Diff(one, traceOver(t, 3, o), within(1e-9)); diff != "" {
		t.Errorf("(-1 process +3 processes): %s", diff)
	}
	if e := one.Result.Examples; e == nil || len(e.Classes[0].List)+len(e.Classes[1].List) == 0 {
		t.Error("no examples are compared")
	}
}
