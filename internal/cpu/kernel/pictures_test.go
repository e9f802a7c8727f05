package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// randomWindow returns a window with strides, dilation and padding, whose frame may be smaller or
// larger than the picture.
func randomWindow(random *rand.Rand) Window {
	for {
		w := Window{describe.Window{
			Channels: 1 + random.IntN(3), Height: 1 + random.IntN(12), Width: 1 + random.IntN(12),
			Lines: 1 + random.IntN(3), Columns: 1 + random.IntN(3),
			Top: random.IntN(3), Left: random.IntN(3),
			StrideY: 1 + random.IntN(7), StrideX: 1 + random.IntN(7),
			DilationY: 1 + random.IntN(2), DilationX: 1 + random.IntN(2),
		}}
		if random.IntN(50) == 0 { // C has several parts
			w.Channels, w.Height, w.Width, w.Lines, w.Columns, w.StrideY, w.StrideX = 40, 22, 22, 4, 4, 1, 1
		}
		w.OutputHeight = (w.Height+2*w.Top-(w.Lines-1)*w.DilationY-1)/w.StrideY + 1
		w.OutputWidth = (w.Width+2*w.Left-(w.Columns-1)*w.DilationX-1)/w.StrideX + 1
		if w.OutputHeight > 0 && w.OutputWidth > 0 { // also windows larger than the picture with its padding
			return w
		}
	}
}

// eachElement calls do for each element of C that is inside the picture: its line and its column
// in C, and its index in the picture.
func eachElement(w *Window, do func(l, place, at int)) {
	l := 0
	for c := range w.Channels {
		for i := range w.Lines {
			for j := range w.Columns {
				for p := range w.OutputHeight {
					for q := range w.OutputWidth {
						y, x := p*w.StrideY-w.Top+i*w.DilationY, q*w.StrideX-w.Left+j*w.DilationX
						if 0 <= y && y < w.Height && 0 <= x && x < w.Width {
							do(l, p*w.OutputWidth+q, (c*w.Height+y)*w.Width+x)
						}
					}
				}
				l++
			}
		}
	}
}

// A convolution and both of its derivatives are the sums of the definition, to the bit: the
// elements are small integers.
func TestConvolutions(t *testing.T) {
	eachKernel(t, convolutionTest[float32], convolutionTest[float64])
}

func convolutionTest[F Float](t *testing.T, level Level) {
	k := require.Value(New[F](level))(t)
	random := rand.New(rand.NewPCG(61, 62))
	s, patches := k.NewScratch(0, 0), k.NewPatches()
	for range 1000 {
		w := randomWindow(random)
		filters := 1 + random.IntN(5)
		integers := func(n int) []F {
			out := make([]F, n)
			for i := range out {
				out[i] = F(random.IntN(7) - 3)
			}
			return out
		}
		picture, d, f := integers(w.Channels*w.Height*w.Width), integers(filters*w.Places()), integers(filters*w.Patch())
		out, grad, sums := make([]F, len(d)), make([]F, len(picture)), integers(len(f))
		gotSums := slices.Clone(sums) // these are added to
		eachElement(&w, func(l, place, at int) {
			for j := range filters {
				out[j*w.Places()+place] += f[j*w.Patch()+l] * picture[at]
				grad[at] += f[j*w.Patch()+l] * d[j*w.Places()+place]
				sums[l*filters+j] += picture[at] * d[j*w.Places()+place]
			}
		})
		packed, trans := k.NewPackedFloats(filters, w.Patch()), k.NewPackedFloats(w.Patch(), filters)
		column := make([]F, filters)
		for j := range filters {
			packed.SetRow(j, f[j*w.Patch():][:w.Patch()])
		}
		for l := range w.Patch() {
			for j := range column {
				column[j] = f[j*w.Patch()+l]
			}
			trans.SetRow(l, column)
		}
		gotOut, gotGrad := integers(len(out)), integers(len(grad)) // these are overwritten
		k.Convolve(gotOut, picture, &w, packed, s, patches)
		k.ConvolveInputGrad(gotGrad, d, &w, trans, s, patches)
		k.AddConvolveFilterGrad(gotSums, picture, d, filters, &w, s, patches)
		for _, c := range []struct {
			what      string
			got, want []F
		}{{"output", gotOut, out}, {"derivative of the picture", gotGrad, grad}, {"derivative of the filters", gotSums, sums}} {
			if !slices.Equal(c.got, c.want) {
				t.Fatalf("%+v, %d filters: the %s differs", w, filters, c.what)
			}
		}
	}
}

// MaxPool takes the first of the largest elements, and leaves out NaN and elements that are not
// above the smallest finite number; its derivative goes to the same places.
func TestMaxPool(t *testing.T) { eachKernel(t, maxPoolTest[float32], maxPoolTest[float64]) }

func maxPoolTest[F Float](t *testing.T, level Level) {
	require.NoRace(t, alone)
	k := require.Value(New[F](level))(t)
	random := rand.New(rand.NewPCG(63, 64))
	values := []F{-1, 0, 1, 2, F(math.NaN()), lowest[F](), F(math.Inf(-1)), F(math.Inf(1))}
	for i := range 400 {
		w := randomWindow(random)
		if i%2 == 0 { // side by side, the usual windows
			w = Window{describe.Window{Channels: w.Channels, Height: w.Height + 1, Width: w.Width + 1, Lines: 2, Columns: 2, StrideY: 2, StrideX: 2,
				DilationY: 1, DilationX: 1, OutputHeight: (w.Height + 1) / 2, OutputWidth: (w.Width + 1) / 2}}
		}
		guard := func(n int) []F { return guarded[F](t, n, i%4 < 2) }
		picture := guard(w.Channels * w.Height * w.Width)
		for j := range picture {
			picture[j] = values[random.IntN(len(values))]
		}
		n := w.Channels * w.Places()
		out, d, places := make([]F, n), guard(n), make([]int, n)
		for j := range out {
			out[j], d[j], places[j] = lowest[F](), F(1+random.IntN(9)), -1
		}
		plane := w
		plane.Channels = 1
		for c := range w.Channels {
			eachElement(&plane, func(_, place, at int) {
				at += c * w.Height * w.Width
				if j := c*w.Places() + place; picture[at] > out[j] {
					out[j], places[j] = picture[at], at
				}
			})
		}
		grad := make([]F, len(picture))
		for j, at := range places {
			if at >= 0 {
				grad[at] += d[j]
			}
		}
		gotOut, gotGrad := guard(n), guard(len(picture))
		k.MaxPool(gotOut, picture, &w)
		k.MaxPoolGrad(gotGrad, picture, d, &w)
		if !slices.Equal(gotOut, out) || !slices.Equal(gotGrad, grad) {
			t.Fatalf("%+v, picture %v: %v and %v, want %v and %v", w, picture, gotOut, gotGrad, out, grad)
		}
	}
}

// Lines are copied and added as the reference does, to the bit, and nothing else is touched.
func TestPictureLines(t *testing.T) {
	eachKernel(t, pictureLinesTest[float32], pictureLinesTest[float64])
}

func pictureLinesTest[F Float](t *testing.T, level Level) {
	require.NoRace(t, alone)
	k, want := mustNew[F](t, level).pictures, picturesGo[F]()
	random := rand.New(rand.NewPCG(65, 66))
	for i := range 300 {
		lines, n := 1+random.IntN(5), 1+random.IntN(80)
		ld, at, end := n+random.IntN(3), make([]int, lines), 0
		for l := range at {
			at[l], end = end, end+n+random.IntN(2)
		}
		panel, picture := guarded[F](t, (lines-1)*ld+n, i%2 == 0), guarded[F](t, at[lines-1]+n, i%2 == 0)
		for j := range panel {
			panel[j] = F(random.NormFloat64())
		}
		for j := range picture {
			picture[j] = F(random.NormFloat64())
		}
		wantPanel, wantPicture := slices.Clone(panel), slices.Clone(picture)
		k.addLines(lines, n, &panel[0], ld, &picture[0], &at[0])
		want.addLines(lines, n, &wantPanel[0], ld, &wantPicture[0], &at[0])
		k.copyLines(lines, n, &panel[0], ld, &picture[0], &at[0])
		want.copyLines(lines, n, &wantPanel[0], ld, &wantPicture[0], &at[0])
		if !slices.Equal(panel, wantPanel) || !slices.Equal(picture, wantPicture) {
			t.Fatalf("%d lines of %d elements, %d apart, differ", lines, n, ld)
		}
	}
}
