package onnx

import (
	"bytes"
	"testing"

	"ppal/internal/require"
)

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
	got := g.Encode()
	require.Golden(t, "testdata/golden.onnx", got)
	if again := g.Encode(); !bytes.Equal(got, again) {
		t.Error("encoded twice, the graph differs")
	}
}
