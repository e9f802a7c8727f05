package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/bench"
	"ppal/internal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// network is a convolutional network whose passes over random pictures of 3 x 32 x 32 are timed.
type network struct {
	name     string
	products cuda.Products
	filters  []int
	pooled   int     // max-pooling follows each pooled-th convolution
	pictures int     // of a pass
	most     float64 // bound of the milliseconds of a pass on an H200; 0: none
	patches  []int   // MiB of patches in memory at a time, compared with the default
	groups   int     // of group normalizations, of which no time of PyTorch is known; 0: none
}

// networks returns the timed networks, the most important ones first. The bounds are predictions.
func networks() []network {
	small, vgg := []int{32, 64, 128}, []int{64, 64, 128, 128, 256, 256}
	return []network{
		{name: "conv 32-64-128", products: cuda.TF32, filters: small, pooled: 1, pictures: 20000, most: 35, patches: []int{16, 256}},
		{name: "VGG-small", products: cuda.TF32, filters: vgg, pooled: 2, pictures: 20000, most: 250},
		{name: "conv 32-64-128", products: cuda.Float32, filters: small, pooled: 1, pictures: 20000},
		{name: "VGG-small", products: cuda.Float32, filters: vgg, pooled: 2, pictures: 20000},
		{name: "conv 32-64-128", products: cuda.TF32, filters: small, pooled: 1, pictures: 128},
		{name: "conv 32-64-128 with group norm", products: cuda.TF32, filters: small, pooled: 1, pictures: 20000, groups: 8},
	}
}

// label names the network in results.
func (n network) label() string {
	return fmt.Sprintf("%s %s, %d pictures", n.name, n.products, n.pictures)
}

// side is the height and width of the pictures, and outputs the number of the dense layer's.
const (
	side    = 32
	outputs = 4
)

// definition returns the network on some pictures.
func (n network) definition(pictures int) graphcases.Pictures {
	c := graphcases.Pictures{Name: n.name, Rows: pictures, Channels: 3, Height: side, Width: side, Outputs: outputs, Seed: 1}
	for k, filters := range n.filters {
		l := graphcases.Layer{Filters: filters, Kernel: [2]int{3, 3}, Pad: [2]int{1, 1}, Bias: true, Groups: n.groups}
		if (k+1)%n.pooled == 0 {
			l.Pool = graphcases.Pool{Kernel: [2]int{2, 2}, Stride: [2]int{2, 2}}
		}
		c.Layers = append(c.Layers, l)
	}
	return c
}

// flops counts the arithmetic of the convolutions in a forward and a backward pass of a picture.
func (n network) flops() (sum float64) {
	size, channels := side, 3
	for k, filters := range n.filters {
		passes := 6.0 // a product and a sum, forward and for both derivatives
		if k == 0 {
			passes = 4 // nobody needs the derivative by the pictures
		}
		sum += passes * 9 * float64(size*size*channels*filters)
		if channels = filters; (k+1)%n.pooled == 0 {
			size /= 2
		}
	}
	return sum
}

// convolutionCases time each network, then PyTorch on the same network.
func convolutionCases() (list []Case) {
	for _, n := range networks() {
		list = append(list, Case{Name: n.label(), Limit: 3 * time.Minute, Run: func(ctx context.Context, o Options) ([]Result, error) {
			return n.measure(ctx, o)
		}})
	}
	return list
}

// measure times passes of the network: with the default memory for patches and with others, and
// without patches. The launches of networks with a bound or with group normalizations are timed,
// too: they show what each layer takes.
func (n network) measure(ctx context.Context, o Options) ([]Result, error) {
	pictures := max(n.pictures/max(o.Shrink, 1), 1)
	ms, err := n.time(ctx, o, pictures, cuda.Options{})
	if err != nil {
		return nil, err
	}
	pass := Measurement(n.label()+": a pass forward and backward", ms, "ms")
	if n.most > 0 {
		pass = AtMost(pass.Name, ms, n.most, "ms")
	}
	pass.Detail = fmt.Sprintf("%.4g TFLOP/s", float64(pictures)*n.flops()/ms/1e9)
	list := []Result{pass}
	for _, mebibytes := range n.patches {
		other, err := n.time(ctx, o, pictures, cuda.Options{Patches: mebibytes << 20})
		if err != nil {
			return list, err
		}
		list = append(list, Measurement(fmt.Sprintf("%s: %d MiB of patches", n.label(), mebibytes), other, "ms"))
	}
	implicit, err := n.time(ctx, o, pictures, cuda.Options{Implicit: true})
	if err != nil {
		return list, err
	}
	list = append(list, Measurement(n.label()+": without patches", implicit, "ms"))
	for _, set := range []cuda.Options{{}, {Implicit: true}} {
		if n.most == 0 && n.groups == 0 {
			break
		}
		launches, err := n.launches(ctx, o, pictures, set)
		if err != nil {
			return list, err
		}
		list = append(list, launches...)
	}
	if n.groups > 0 {
		return list, nil
	}
	rivals, err := n.rivals(ctx, o, pictures, ms)
	return append(list, rivals...), err
}

// on builds the network on a device, and calls do with a function that runs passes forward and
// backward and waits for each.
func (n network) on(o Options, pictures int, set cuda.Options, do func(passes func(times int) error) error) error {
	set.Products = n.products
	return withDevice(o, set, func(d *cuda.Device) error {
		p, err := n.definition(pictures).Problem(tensor.Float32, graph.On(d))
		if err != nil {
			return err
		}
		v := p.Space().New()
		return do(func(times int) error {
			for range times {
				if _, err := p.Forward(make([]float64, 1)); err != nil {
					return err
				}
				if err := p.Backward([]float64{1, 1}, v); err != nil {
					return err
				}
				p.Space().Dot(v, problem.Iterate) // waits for the backward pass
			}
			return p.Space().Err()
		})
	})
}

// time returns the median milliseconds of a pass forward and backward.
func (n network) time(ctx context.Context, o Options, pictures int, set cuda.Options) (ms float64, err error) {
	err = n.on(o, pictures, set, func(passes func(times int) error) error {
		if err := passes(leastOfTurn); err != nil { // captures the graphs
			return err
		}
		var times []float64
		for range rounds {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			began := time.Now()
			if err := passes(1); err != nil {
				return err
			}
			times = append(times, time.Since(began).Seconds()*1e3)
		}
		ms = median(times)
		return nil
	})
	return ms, err
}

// launches times every launch of a pass, which shows what each layer takes.
func (n network) launches(ctx context.Context, o Options, pictures int, set cuda.Options) (list []Result, err error) {
	w, label, open := &watch{}, n.label(), o.Open
	o.Open = func() (d driver.Driver, err error) { w.Driver, err = open(); return w, err }
	set.NoGraphs = true
	if set.Implicit {
		label += " without patches"
	}
	err = n.on(o, pictures, set, func(passes func(times int) error) error {
		if err := errors.Join(passes(1), context.Cause(ctx)); err != nil {
			return err
		}
		list, err = timeLaunches(label, leastOfTurn, passes, w)
		return err
	})
	return list, err
}

// askedPictures is the most pictures of a pass of PyTorch, whose time is scaled: PyTorch keeps more
// layers than ppal, and its contenders are in memory together.
const askedPictures = 2000

// rivals compares a pass of ms milliseconds with PyTorch's.
func (n network) rivals(ctx context.Context, o Options, pictures int, ms float64) ([]Result, error) {
	if missing := noPyTorch(ctx, o); missing != nil {
		return missing, nil
	}
	c := timedCase{name: n.label(), precision: driver.Float32}
	if n.products == cuda.TF32 {
		c.precision = driver.TF32
	}
	q := c.request(bench.Shape{Rows: min(pictures, askedPictures), Features: 3 * side * side})
	q.Cases[0].Kind, q.Cases[0].Classes, q.Cases[0].Filters, q.Cases[0].Pooled = "pictures", outputs, n.filters, n.pooled
	reply, err := askPyTorch(ctx, o.Python, q)
	if err != nil {
		return nil, err
	}
	for name := range reply.Milliseconds {
		reply.Milliseconds[name] *= float64(pictures) / float64(q.Cases[0].Rows)
	}
	return c.judgePeers(ms, reply), nil
}
