package datasets

import (
	"math"
	"sync"

	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/recordio"
	"ppal/internal/vec"
)

// Sizes of the synthetic set.
const (
	syntheticSide      = 28
	syntheticTrainRows = 1200 // per class, by default
	syntheticTestRows  = 500
)

// SyntheticConfig holds the sizes and the seed of a synthetic data set. The zero value gives the
// default sizes; negative sizes panic.
type SyntheticConfig struct {
	Seed          uint64
	TrainPerClass int // 0 is 1200
	TestPerClass  int // 0 is 500
}

// syntheticSet describes the built-in data set.
func syntheticSet() Dataset {
	classes := make([]string, len(glyphs))
	for i, g := range glyphs {
		classes[i] = g.name
	}
	d := Dataset{
		Name:        "synthetic",
		Description: "built in: pen strokes that blend into one another, generated from the seed",
		Classes:     classes,
		Shape:       picture.Shape{Height: syntheticSide, Width: syntheticSide, Channels: 1},
	}
	d.images = func(_ string, seed uint64) (train, test *picture.Pictures, err error) {
		train, test = lastDrawn.draw(seed)
		return train, test, nil
	}
	return d
}

// lastDrawn keeps the pictures of one seed, because programs that train several models open the
// same set again and again.
var lastDrawn drawnSets

type drawnSets struct {
	mu          sync.Mutex
	seed        uint64
	train, test *picture.Images
}

// of returns the pictures of the seed.
func (d *drawnSets) draw(seed uint64) (train, test *picture.Pictures) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.train == nil || d.seed != seed {
		d.seed = seed
		d.train, d.test = Synthetic(SyntheticConfig{Seed: seed})
	}
	return picture.Drawn(d.train), picture.Drawn(d.test)
}

// Synthetic generates a training and a test set of 28 x 28 8-bit images. Every class is one pen
// stroke (see glyphs). An image is generated in three steps:
//
//  1. The stroke of the image is a blend (1-t) own + t other of the stroke of the image's class
//     and the stroke of another class, most often a neighbour in the list. t is small most of the
//     time but may exceed 1/2. Images with a large t are ambiguous: a model classifies all of
//     these images correctly only if it memorises each image, so a model decides which class has
//     the errors.
//  2. Every control point moves by a small random amount. Then the stroke is rotated, sheared,
//     scaled and shifted as a whole, and smoothed.
//  3. The stroke is drawn light on dark with a pen of random width and brightness, on a background
//     with a brightness gradient and a little noise.
//
// All steps are integer arithmetic on a PCG stream, so a seed gives the same bytes on every
// machine. Every class has its own streams for training and test rows, so a larger set begins with
// the rows of a smaller set. The classes alternate from row to row.
func Synthetic(cfg SyntheticConfig) (train, test *picture.Images) {
	if cfg.TrainPerClass == 0 {
		cfg.TrainPerClass = syntheticTrainRows
	}
	if cfg.TestPerClass == 0 {
		cfg.TestPerClass = syntheticTestRows
	}
	return drawSet(cfg.Seed, 0, cfg.TrainPerClass), drawSet(cfg.Seed, 1, cfg.TestPerClass)
}

// point is a position in the image in fixed point: unit is the width of one pixel.
type point struct{ x, y int }

// unit is one pixel in fixed point.
const unit = 64

// glyphPoints is the number of control points of every stroke. Strokes are blended point by point.
const glyphPoints = 9

// glyphs are the strokes of the classes, in pixels relative to the centre of the image, y
// downwards. Neighbours in the list (cyclically) are blended most often.
var glyphs = [...]struct {
	name   string
	points [glyphPoints]point
}{
	{"O", [glyphPoints]point{{7, -1}, {5, -6}, {0, -8}, {-5, -6}, {-7, 0}, {-5, 6}, {0, 8}, {5, 6}, {7, 1}}},
	{"C", [glyphPoints]point{{6, -4}, {4, -7}, {0, -8}, {-5, -6}, {-7, 0}, {-5, 6}, {0, 8}, {4, 7}, {6, 4}}},
	{"S", [glyphPoints]point{{6, -5}, {2, -8}, {-3, -7}, {-5, -3}, {0, 0}, {5, 3}, {3, 7}, {-2, 8}, {-6, 5}}},
	{"3", [glyphPoints]point{{-5, -6}, {0, -8}, {5, -6}, {4, -2}, {-1, 0}, {5, 2}, {5, 6}, {0, 8}, {-6, 6}}},
	{"2", [glyphPoints]point{{-6, -5}, {-2, -8}, {4, -7}, {5, -3}, {1, 2}, {-6, 8}, {-2, 7}, {2, 7}, {6, 7}}},
	{"6", [glyphPoints]point{{4, -8}, {-2, -5}, {-5, 0}, {-5, 5}, {0, 8}, {5, 5}, {3, 1}, {-1, 0}, {-5, 3}}},
}

// drawSet generates rowsPerClass images of every class. split separates the streams of training and
// test rows.
func drawSet(seed uint64, split, rowsPerClass int) *picture.Images {
	classes := syntheticSet().Classes
	rows := rowsPerClass * len(classes)
	shape := picture.Shape{Height: syntheticSide, Width: syntheticSide, Channels: 1}
	set := &picture.Images{
		Pixels:  &matrix.Bytes{Rows: rows, Cols: shape.Pixels(), Data: make([]uint8, rows*shape.Pixels()), Scale: picture.PixelScale},
		Labels:  make([]uint8, rows),
		Classes: classes,
		Shape:   shape,
	}
	recordio.InParallel(len(classes), func(class int) {
		s := vec.NewStream(seed, uint64(split*len(classes)+class))
		for i := range rowsPerClass {
			r := i*len(classes) + class
			set.Labels[r] = uint8(class)
			drawPicture(s, class, set.Pixels.Data[r*shape.Pixels():(r+1)*shape.Pixels()])
		}
	})
	return set
}

// drawPicture generates one image of the class in pixels.
func drawPicture(s vec.Stream, class int, pixels []uint8) {
	stroke := smooth(place(s, blend(s, class)))
	radius := penLeast + s.Below(penRange)
	reach := radius + penEdge
	// The squared distances to the stroke, at most reach^2.
	var near [syntheticSide * syntheticSide]int
	for i := range near {
		near[i] = reach * reach
	}
	for i := range len(stroke) - 1 {
		approach(&near, stroke[i], stroke[i+1], reach)
	}
	paint(s, &near, reach, pixels)
}

// Ranges of the random variations. They are chosen so that, on the first four classes, a two-layer
// network needs hundreds of iterations to lower the first class's loss within the bounds on the
// other classes, a linear model remains far behind, and both err on a fifth to a quarter of the
// test rows.
const (
	blendUnit = 1024                // the weight 1 of a blend
	blendMost = blendUnit * 17 / 20 // the largest weight of the other stroke
	jitter    = unit * 5 / 8        // of every control point, in each direction
	fixedOne  = 1024                // 1 in the fixed-point numbers of rotation and scale
	// tangent of half the largest rotation, 13 degrees in each direction
	turn        = fixedOne * 3 / 25
	stretch     = fixedOne * 3 / 25 // change of scale and shear, in each direction
	shift       = unit * 3 / 2      // of the whole stroke, in each direction
	penLeast    = unit / 4          // full-ink radius of the thinnest pen
	penRange    = unit * 3 / 4      // additional radius, at most
	penEdge     = unit * 4          // distance over which the ink fades out
	inkLeast    = 80                // grey levels between background and ink
	inkRange    = 70                // additional grey levels, at most
	groundLeast = 15                // grey level of the darkest background
	groundRange = 25                // additional grey levels, at most
	slope       = 8                 // grey levels of the background's gradient, in each direction
)

// blend blends the class's stroke with another stroke and moves every point.
func blend(s vec.Stream, class int) (points [glyphPoints]point) {
	other := (class + 1 + s.Below(len(glyphs)-1)) % len(glyphs)
	switch s.Below(8) {
	case 0, 1, 2:
		other = (class + 1) % len(glyphs)
	case 3, 4, 5:
		other = (class + len(glyphs) - 1) % len(glyphs)
	}
	u := s.Below(blendUnit)
	t := u * u / blendUnit * blendMost / blendUnit
	for i := range points {
		a, b := glyphs[class].points[i], glyphs[other].points[i]
		points[i].x = (a.x*(blendUnit-t)+b.x*t)*unit/blendUnit + s.Within(jitter)
		points[i].y = (a.y*(blendUnit-t)+b.y*t)*unit/blendUnit + s.Within(jitter)
	}
	return points
}

// place rotates, scales, shears and shifts a stroke, and moves its origin to the centre of the
// image. The rotation by an angle a uses h = tan(a/2): cos a = (1-h^2)/(1+h^2), sin a = 2h/(1+h^2).
func place(s vec.Stream, points [glyphPoints]point) [glyphPoints]point {
	h := s.Within(turn)
	norm := fixedOne*fixedOne + h*h
	cos, sin := fixedOne*(fixedOne*fixedOne-h*h)/norm, 2*fixedOne*fixedOne*h/norm
	scaleX, scaleY := fixedOne+s.Within(stretch), fixedOne+s.Within(stretch)
	shear := s.Within(stretch)
	shiftX, shiftY := s.Within(shift), s.Within(shift)
	for i, p := range points {
		x := (p.x*scaleX + p.y*shear) / fixedOne
		y := p.y * scaleY / fixedOne
		points[i].x = (x*cos-y*sin)/fixedOne + syntheticSide*unit/2 + shiftX
		points[i].y = (x*sin+y*cos)/fixedOne + syntheticSide*unit/2 + shiftY
	}
	return points
}

// smooth cuts the corners of a stroke once (Chaikin), which halves its bends.
func smooth(points [glyphPoints]point) []point {
	out := make([]point, 0, 2*glyphPoints)
	out = append(out, points[0])
	for i := range glyphPoints - 1 {
		a, b := points[i], points[i+1]
		out = append(out,
			point{(3*a.x + b.x) / 4, (3*a.y + b.y) / 4},
			point{(a.x + 3*b.x) / 4, (a.y + 3*b.y) / 4})
	}
	return append(out, points[glyphPoints-1])
}

// approach lowers the squared distances of the pixels within reach of the segment from a to b.
func approach(near *[syntheticSide * syntheticSide]int, a, b point, reach int) {
	left, right := pixelRange(min(a.x, b.x)-reach, max(a.x, b.x)+reach)
	top, bottom := pixelRange(min(a.y, b.y)-reach, max(a.y, b.y)+reach)
	dx, dy := b.x-a.x, b.y-a.y
	length := max(1, dx*dx+dy*dy)
	for row := top; row < bottom; row++ {
		for col := left; col < right; col++ {
			px, py := col*unit+unit/2-a.x, row*unit+unit/2-a.y
			along := min(max(px*dx+py*dy, 0), length)
			// float64 divides faster, and keeps the integer part of quotients of integers this small.
			ex := px - int(float64(dx*along)/float64(length))
			ey := py - int(float64(dy*along)/float64(length))
			i := row*syntheticSide + col
			near[i] = min(near[i], ex*ex+ey*ey)
		}
	}
}

// coverage returns the ink, 0 to unit, at a squared distance from the stroke: full coverage within
// the radius, falling to 0 over penEdge.
func coverage(squared, reach int) int {
	// The square root of an integer is correctly rounded on every machine.
	distance := int(math.Sqrt(float64(squared)))
	return min((reach-distance)*unit/penEdge, unit)
}

// pixelRange clips an interval in fixed point to whole pixels of the image.
func pixelRange(from, to int) (int, int) {
	return max(from/unit, 0), min(to/unit+1, syntheticSide)
}

// paint turns squared distances into grey values: a background with a gradient, ink, and noise.
func paint(s vec.Stream, near *[syntheticSide * syntheticSide]int, reach int, pixels []uint8) {
	level := groundLeast + s.Below(groundRange)
	contrast := inkLeast + s.Below(inkRange)
	slopeX, slopeY := s.Within(slope), s.Within(slope)
	for row := range syntheticSide {
		for col := range syntheticSide {
			i := row*syntheticSide + col
			v := level + (slopeX*(2*col+1-syntheticSide)+slopeY*(2*row+1-syntheticSide))/syntheticSide
			v += contrast * coverage(near[i], reach) / unit
			v += s.Bell()
			pixels[i] = uint8(min(max(v, 0), 255))
		}
	}
}
