package predictor_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session"
)

// damages are what a bad disk, an interrupted copy or an editor does to a file.
var damages = map[string]func(r *rand.Rand, data []byte) []byte{
	"cut":   func(r *rand.Rand, data []byte) []byte { return data[:r.IntN(len(data))] },
	"bit":   func(r *rand.Rand, data []byte) []byte { data[r.IntN(len(data))] ^= 1 << r.IntN(8); return data },
	"zeros": func(r *rand.Rand, data []byte) []byte { clear(data[r.IntN(len(data)):]); return data },
	"digit": func(r *rand.Rand, data []byte) []byte {
		for {
			if i := r.IntN(len(data)); data[i] >= '0' && data[i] <= '9' {
				data[i] = '0' + (data[i]-'0'+1+byte(r.IntN(9)))%10
				return data
			}
		}
	},
	"doubled part": func(r *rand.Rand, data []byte) []byte {
		i, j := r.IntN(len(data)), r.IntN(len(data))
		return append(bytes.Clone(data[:max(i, j)+1]), data[min(i, j):]...)
	},
	"no file": func(*rand.Rand, []byte) []byte { return nil },
}

// A model with a damaged file is refused with the file's name, also where only the weights are
// read.
func TestDamagedModels(t *testing.T) {
	source := session.CSV(write(t, people(300)), "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.DemographicParity{})
	best := filepath.Base(rundir.Dir(dir).Best())
	load := map[string]func() error{
		"Load":     func() error { _, err := predictor.Load(dir); return err },
		"LoadBest": func() error { _, err := predictor.LoadBest(dir); return err },
		"LoadFile": func() error { _, err := models.LoadFile(filepath.Join(dir, "model.safetensors"), nil); return err },
		"best":     func() error { _, err := models.LoadFile(filepath.Join(dir, best), nil); return err },
	}
	reads := map[string][]string{"Load": {"model.json", "model.safetensors", "preparation.yaml"}, "LoadFile": {"model.safetensors"}, "best": {best},
		"LoadBest": {"model.json", "summary.json", best, "preparation.yaml"}}
	r := rand.New(rand.NewPCG(3, 4))
	for reader, names := range reads {
		if err := load[reader](); err != nil {
			t.Fatal(reader, err)
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			whole := require.Value(os.ReadFile(path))(t)
			for kind, damage := range damages {
				for range 20 {
					data := damage(r, bytes.Clone(whole))
					if bytes.Equal(data, whole) {
						continue
					}
					_ = os.Remove(path)
					if data != nil {
						require.NoError(t, os.WriteFile(path, data, 0o644))
					}
					if err := load[reader](); err == nil || !strings.Contains(err.Error(), name) {
						t.Fatalf("%s takes %s with the damage %q: %v", reader, name, kind, err)
					}
				}
			}
			require.NoError(t, os.WriteFile(path, whole, 0o644))
		}
	}
}

// A directory with files of two runs is refused with the name of a file that is not the run's, for
// every mixture.
func TestMixedModels(t *testing.T) {
	var dirs [2]string
	names := []string{"model.json", "model.safetensors", "preparation.yaml"}
	for k := range dirs {
		source := session.CSV(write(t, people(300)), "member", "age<40")
		source.Ignore, source.Missing, source.SplitSeed = []string{"id"}, tabular.MissingImputed, uint64(k)
		dirs[k], _ = train(t, source, session.DemographicParity{})
	}
	for mixture := range 1 << len(names) {
		dir := t.TempDir()
		for k, name := range names {
			data := require.Value(os.ReadFile(filepath.Join(dirs[mixture>>k&1], name)))(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		}
		_, err := predictor.Load(dir)
		if whole := mixture == 0 || mixture == 1<<len(names)-1; whole != (err == nil) || !whole && !errors.Is(err, disk.ErrChanged) {
			t.Errorf("mixture %03b: %v", mixture, err)
		}
	}
}

// The directory of an earlier version, without checksums in model.json, is read with a note.
func TestEarlierModel(t *testing.T) {
	source := session.CSV(write(t, people(300)), "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.DemographicParity{})
	m, err := predictor.Load(dir)
	if err != nil || m.Notes() != nil {
		t.Fatal(err, m.Notes())
	}
	d := m.Description()
	d.Schema, d.Files = 1, nil
	text, err := rundir.ModelText(d)
	if err != nil || bytes.Contains(text, []byte("checksum")) {
		t.Fatalf("%v: %s", err, text)
	}
	require.NoError(t, os.WriteFile(rundir.Dir(dir).ModelDescription(), text, 0o644))
	if m, err = predictor.Load(dir); err != nil || len(m.Notes()) != 1 || !strings.Contains(m.Notes()[0], "without checksums") {
		t.Errorf("%v, %q", err, m.Notes())
	}
}
