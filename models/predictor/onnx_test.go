package predictor_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session"
)

// load loads the model of a run.
func load(t *testing.T, dir string) *predictor.Model {
	t.Helper()
	return require.Value(predictor.Load(dir))(t)
}

// The ONNX graph computes the model's scores and decisions from the columns of the file, including
// missing numbers and missing categories.
func TestONNXColumns(t *testing.T) {
	text := strings.ReplaceAll(people(2000), ",NA,", ",,") // NA is a category; an empty cell is a missing value
	source := session.CSV(write(t, text), "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.DemographicParity{}, 5)
	m := load(t, dir)
	var age, income value
	var job value
	lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
	for _, line := range lines {
		fields := strings.Split(line, ",")
		for k, v := range []*value{&age, &income} {
			x := math.NaN()
			if fields[k+1] != "" {
				fmt.Sscan(fields[k+1], &x)
			}
			v.x = append(v.x, x)
		}
		job.s = append(job.s, fields[3])
	}
	age.shape, income.shape, job.shape = []int{len(lines), 1}, []int{len(lines), 1}, []int{len(lines), 1}
	out := run(t, exported(t, m, predictor.ONNXOptions{}), map[string]value{"age": age, "income": income, "job": job})
	compare(t, m, text, out)

	job.s[0] = "astronaut"
	unknown := exported(t, m, predictor.ONNXOptions{IgnoreUnknown: true})
	out = run(t, unknown, map[string]value{"age": age, "income": income, "job": job})
	first := strings.Split(text, "\n")
	fields := strings.Split(first[1], ",")
	fields[3] = "astronaut"
	compare(t, m, first[0]+"\n"+strings.Join(fields, ",")+"\n", out)
}

// compare compares the outputs of an ONNX graph with the model, for the first rows.
func compare(t *testing.T, m *predictor.Model, text string, out map[string]value) {
	t.Helper()
	rows := 0
	err := m.Read(strings.NewReader(text), "text", predictor.Options{IgnoreUnknown: true}, func(b *predictor.Batch) error {
		outputs, scores, classes := m.Outputs(), out["score"].x, out["decision"].s
		if outputs > 1 {
			scores, classes = out["scores"].x, out["class"].s
		}
		for i, decision := range b.Decisions {
			probabilities, ok := m.Probabilities(b.Scores[i*outputs:][:outputs])
			if ok != (out["probabilities"].x != nil) {
				return fmt.Errorf("the model and the graph differ in having probabilities")
			}
			for k, want := range probabilities {
				if got := out["probabilities"].x[(b.First+i)*outputs+k]; math.Abs(got-want) > 1e-12 {
					return fmt.Errorf("probability %d of row %d is %v, want %v", k, b.First+i+1, got, want)
				}
			}
			if got, want := classes[b.First+i], m.Classes()[decision]; got != want {
				return fmt.Errorf("row %d is %s, want %s", b.First+i+1, got, want)
			}
		}
		for i, want := range b.Scores {
			if got := scores[b.First*outputs+i]; math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
				return fmt.Errorf("score %d is %v, want %v", b.First*outputs+i, got, want)
			}
		}
		rows += len(b.Decisions)
		return nil
	})
	if err != nil || rows == 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// The rows have LIBSVM's format, and the model leaves out some of their features.
func TestONNXSparse(t *testing.T) {
	var text strings.Builder
	x := value{shape: []int{200, 4}, x: make([]float64, 800)}
	for i := range 200 {
		for j := range 4 {
			if (i+j)%3 > 0 {
				x.x[4*i+j] = float64(i%7*j + 1)
			}
		}
		label := []string{"-1", "+1"}[indicatorInt(i%5 > 1)]
		fmt.Fprintf(&text, "%s", label)
		for j := range 4 {
			if v := x.x[4*i+j]; v != 0 {
				fmt.Fprintf(&text, " %d:%v", j+1, v)
			}
		}
		text.WriteByte('\n')
	}
	source := session.LIBSVM(write(t, text.String()), "1")
	source.Ignore = []string{"3"}
	dir, _ := train(t, source, session.DemographicParity{})
	m := load(t, dir)
	compare(t, m, text.String(), run(t, exported(t, m, predictor.ONNXOptions{}), map[string]value{"x": x}))
}

func indicatorInt(is bool) int { return int(indicator(is)) }

// The test covers pictures, several classes, one network for each class, and every activation.
func TestONNXPictures(t *testing.T) {
	images := session.Images{Dataset: "synthetic", RowsPerClass: 8}
	t.Run("network", func(t *testing.T) { onnxPictures(t, images, models.Spec{Hidden: []int{4, 3}}) })
	t.Run("conv", func(t *testing.T) { onnxPictures(t, images, models.Conv{Channels: []int{2, 3}, Hidden: []int{3}}) })
	t.Run("resnet", func(t *testing.T) {
		onnxPictures(t, images, models.ResNet{Channels: []int{2, 4}, Hidden: []int{3}, Activation: models.Softplus})
	})
	t.Run("norm", func(t *testing.T) {
		onnxPictures(t, images, models.Conv{Channels: []int{2}, Norm: models.GroupNorm, Pool: models.NoPool, Activation: models.LeakyReLU})
	})
}

func onnxPictures(t *testing.T, images session.Images, model models.Architecture) {
	dir, _ := trainModel(t, images, session.NeymanPearson{}, model)
	m := load(t, dir)
	shape := m.Description().Input.Shape
	pixels := m.Description().Input.Features
	if len(shape) != 3 || shape[0]*shape[1]*shape[2] != pixels {
		t.Fatalf("shape %v of %d pixels", shape, pixels)
	}
	const rows = 5
	idx := []byte{0, 0, 8, 2, 0, 0, 0, rows}
	idx = binary.BigEndian.AppendUint32(idx, uint32(pixels))
	x := value{shape: append([]int{rows}, shape...)}
	for i := range rows * pixels {
		idx = append(idx, byte(i*i%256))
		x.x = append(x.x, float64(i*i%256))
	}
	compare(t, m, string(idx), run(t, exported(t, m, predictor.ONNXOptions{}), map[string]value{"pixels": x}))
}

// On the bank data set, the ONNX graph has one input for each column and agrees with the model.
func TestONNXPublished(t *testing.T) {
	data := os.Getenv(datasets.EnvData)
	if data == "" {
		t.Skip(datasets.EnvData + " is not set")
	}
	dir, _ := train(t, session.Table{Dataset: "bank", Dir: data}, session.DemographicParity{})
	m := load(t, dir)
	graph := parse(t, exported(t, m, predictor.ONNXOptions{})).messages(7)[0]
	if n := len(graph.messages(11)); n != 20 {
		t.Errorf("%d inputs, want one for each of 20 columns", n)
	}
	content := require.Value(os.ReadFile(filepath.Join(data, "bank/bank-additional-full.csv")))(t)
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(content), `"`, "")), "\n")[:500]
	names := strings.Split(lines[0], ";")
	values := map[string]value{}
	for k, name := range names[:20] {
		v := value{shape: []int{len(lines) - 1, 1}}
		for _, line := range lines[1:] {
			field := strings.Split(line, ";")[k]
			v.s = append(v.s, field)
			var x float64
			fmt.Sscan(field, &x)
			v.x = append(v.x, x)
		}
		values[name] = v
	}
	compare(t, m, strings.Join(lines, "\n"), run(t, exported(t, m, predictor.ONNXOptions{}), values))
}

// exported returns the model as an ONNX file.
func exported(t testing.TB, m *predictor.Model, o predictor.ONNXOptions) []byte {
	t.Helper()
	return require.Value(m.ONNX(o))(t)
}
