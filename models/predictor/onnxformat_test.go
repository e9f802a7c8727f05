package predictor

import (
	"bytes"
	"testing"

	"ppal/internal/require"
)

// The golden file has passed onnx.checker.check_model(full_check=True) of the package onnx 1.23.2.
func TestEncode(t *testing.T) {
	g := &onnxEncoder{Name: "golden", Doc: "doc", Producer: "ppal", Version: "v"}
	g.Input("x", onnxDouble, onnxRows, onnxSize(2))
	g.Input("c", onnxString, onnxRows)
	g.Doubles("w", []float64{1, -2}, 2, 1)
	g.Ints("shape", []int64{-1}, 1)
	g.Node("MatMul", "", []string{"x", "w"}, []string{"s"})
	g.Node("Reshape", "", []string{"s", "shape"}, []string{"score"})
	g.Node("OneHotEncoder", onnxML, []string{"c"}, []string{"hot"}, onnxAttribute{"cats_strings", []string{"a", "b"}}, onnxAttribute{"zeros", int64(1)})
	g.Node("LabelEncoder", onnxML, []string{"c"}, []string{"code"}, onnxAttribute{"keys_strings", []string{"a", "b"}}, onnxAttribute{"values_int64s", []int64{0, 1}})
	g.Output("score", onnxDouble, onnxRows)
	g.Output("code", onnxInt64, onnxRows)
	got := g.Encode()
	require.Golden(t, "testdata/golden.onnx", got)
	if again := g.Encode(); !bytes.Equal(got, again) {
		t.Error("encoded twice, the graph differs")
	}
}
