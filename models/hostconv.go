package models

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// hostConv computes the blocks of a Conv for one picture at a time, in float64.
type hostConv struct {
	conv           Conv
	patches, z, to []float64
}

func newHostConv(c Conv) *hostConv {
	h := &hostConv{conv: c}
	patches, places := 0, 0
	p := c.Picture
	for _, n := range c.Channels {
		patches, places = max(patches, p.Pixels()*filterSide*filterSide), max(places, p.Height*p.Width*n)
		p = c.after(p, n)
	}
	h.patches, h.z, h.to = make([]float64, patches), make([]float64, places), make([]float64, places)
	return h
}

// blocks returns the features of a picture. The next call overwrites them.
func (h *hostConv) blocks(picture []float64, weights Weights) []float64 {
	p := h.conv.Picture
	for k, n := range h.conv.Channels {
		convolveRow(h.z, h.patches, picture, p, weights[2*k].Data, weights[2*k+1].Data)
		h.conv.Activation.apply(h.z[:n*p.Height*p.Width])
		p.Channels = n
		poolRow(h.to, h.z, p, h.conv.Pool)
		p = h.conv.after(p, n)
		picture = h.to[:p.Pixels()]
	}
	return picture
}

// convolveRow computes the channels z [k, h w] = F [k, c 3 3] P [c 3 3, h w] + b of a picture, with
// the patches P of its pixels.
func convolveRow(z, patches, picture []float64, p Picture, filters, bias []float64) {
	places, rows := p.Height*p.Width, p.Channels*filterSide*filterSide
	clear(patches[:rows*places])
	for r := range rows {
		c, i, j := r/(filterSide*filterSide), r/filterSide%filterSide-padding, r%filterSide-padding
		for y := max(0, -i); y < min(p.Height, p.Height-i); y++ {
			from, to := max(0, -j), min(p.Width, p.Width-j)
			copy(patches[r*places+y*p.Width+from:r*places+y*p.Width+to], picture[(c*p.Height+y+i)*p.Width+from+j:])
		}
	}
	for k, b := range bias {
		for i := range places {
			z[k*places+i] = b
		}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1,
		blas64.General{Rows: len(bias), Cols: rows, Stride: rows, Data: filters},
		blas64.General{Rows: rows, Cols: places, Stride: places, Data: patches},
		1, blas64.General{Rows: len(bias), Cols: places, Stride: places, Data: z})
}

// poolRow writes the largest or the mean of each 2 x 2 pixels of the channels z.
func poolRow(to, z []float64, p Picture, pool Pool) {
	height, width := p.Height/poolSide, p.Width/poolSide
	for c := range p.Channels {
		for y := range height {
			for x := range width {
				at := (c*p.Height+y*poolSide)*p.Width + x*poolSide
				out := &to[(c*height+y)*width+x]
				if *out = max(z[at], z[at+1], z[at+p.Width], z[at+p.Width+1]); pool == AveragePool {
					*out = (z[at] + z[at+1] + z[at+p.Width] + z[at+p.Width+1]) / (poolSide * poolSide)
				}
			}
		}
	}
}
