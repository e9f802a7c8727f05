//go:build gpu

package session

import (
	"ppal/cuda"
	"ppal/cuda/open"
)

// openGPU opens one or several of this machine's GPUs.
func openGPU(o GPUOptions) (GPU, error) {
	visible := 0
	if o.AllGPUs || o.Neighbours > 0 {
		all, err := open.Devices()
		if len(all) == 0 { // else opening a device says what is missing, and cuBLAS may be
			return nil, err
		}
		visible = len(all)
	}
	numbers := o.numbers(visible)
	digits, err := cuda.ChosenDigits()
	if err != nil {
		return nil, err
	}
	options := cuda.Options{Products: o.Products, MicroBatch: o.MicroBatch, Digits: digits}
	if len(numbers) != 1 || o.Neighbours > 0 {
		if options.GPUSums, err = cuda.ChosenSums(); err != nil {
			return nil, err
		}
		options.Processes = o.Neighbours > 0
		several, err := cuda.OpenSeveral(numbers, open.Open, options)
		if err != nil {
			return nil, err
		}
		return several, nil
	}
	d, err := open.Open(numbers[0])
	if err != nil {
		return nil, err
	}
	gpu, err := cuda.Open(d, options)
	if err != nil {
		return nil, err
	}
	return gpu, nil
}

// numbers lists the numbers of the GPUs that a process opens, of a machine with the given number of
// visible GPUs. Among several processes, each takes the GPU with its place. If the user names
// several GPUs, the processes of a machine share them evenly; where their number does not divide
// the number of GPUs, each process takes all, because the machine may show it only its own.
func (o GPUOptions) numbers(visible int) []int {
	list := []int{o.Ordinal}
	switch {
	case o.AllGPUs:
		list = nil
		for n := range visible {
			list = append(list, n)
		}
	case len(o.GPUs) > 0:
		list = o.GPUs
	case o.Neighbours > 0 && o.Ordinal == 0:
		return []int{o.Place % visible}
	}
	if o.Neighbours > 0 && len(list)%o.Neighbours == 0 {
		each := len(list) / o.Neighbours
		return list[o.Place*each : (o.Place+1)*each]
	}
	return list
}
