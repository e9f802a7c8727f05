package onnx

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// The golden file has passed onnx.checker.check_model(full_check=True) of the package onnx 1.23.2.
func TestEncode(t *testing.T) {
	g := &Graph{Name: "golden", Doc: "doc", Producer: "ppal", Version: "v"}
	g.Input("x", Double, Rows, Size(2))
	g.Input("c", String, Rows)
	g.Doubles("w", []float64{1, -2}, 2, 1)
	g.Ints("shape", []int64{-1}, 1)
	g.Node("MatMul", "", []string{"x", "w"}, []string{"s"})
	g.Node("Reshape", "", []string{"s", "shape"}, []string{"score"})
	g.Node("OneHotEncoder", ML, []string{"c"}, []string{"hot"}, Attribute{"cats_strings", []string{"a", "b"}}, Attribute{"zeros", int64(1)})
	g.Node("LabelEncoder", ML, []string{"c"}, []string{"code"}, Attribute{"keys_strings", []string{"a", "b"}}, Attribute{"values_int64s", []int64{0, 1}})
	g.Output("score", Double, Rows)
	g.Output("code", Int64, Rows)
	const path = "testdata/golden.onnx"
	got := g.Encode()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want the %d bytes of %s", len(got), len(want), path)
	}
	if again := g.Encode(); !bytes.Equal(got, again) {
		t.Error("encoded twice, the graph differs")
	}
}
