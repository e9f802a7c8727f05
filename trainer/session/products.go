package session

import (
	"errors"
	"fmt"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/internal/config"
	"ppal/internal/plan"
)

// productsError lets an error about kinds of products name the key.
func productsError(err error) error {
	var unsupported *plan.ProductsError
	if errors.As(err, &unsupported) {
		return &config.Error{Where: "--products", Problem: fmt.Sprintf("is %v, which needs %s; %s, want auto or float32",
			unsupported.Products, unsupported.Needs, unsupported.Found)}
	}
	return err
}

// checkProducts refuses slices where the data are not of 8 bits.
func (e *Experiment) checkProducts() error {
	_, e.eightBit = e.splits[0].data.(matrix.EightBit)
	switch e.cfg.Products {
	case "int8x3", "int8x2", "bf16x3", "bf16x2":
	default:
		return nil
	}
	if e.eightBit {
		return nil
	}
	return &config.Error{Where: "--products", Problem: fmt.Sprintf(
		"is %s, which is for 8-bit data; the features of %s are others, want auto or float32", e.cfg.Products, e.cfg.Dataset)}
}

// describeProducts says what ran, and of 8-bit data why it is float32 if it is.
func (e *Experiment) describeProducts() {
	if e.info.Products = e.splits[0].problem.Products(); e.info.Products == "" {
		e.info.Products = e.cfg.Dtype
	}
	if e.gpu != nil {
		e.info.Device = describeGPU(e.gpu.Info(), e.cfg.Device, e.info.Products)
	}
	if !e.eightBit || e.device == nil || e.cfg.Products != "auto" || e.cfg.Dtype != "float32" {
		return
	}
	if _, err := e.device.With(plan.Int8x3); err != nil {
		e.info.Notes = append(e.info.Notes, fmt.Sprintf(
			"The data are of 8 bits, but the %v kernels have neither AVX-512 VNNI nor AVX-VNNI here: products are in float32.", e.device.Level()))
	}
}

// slicing says whether products with 8-bit data of so many columns would be slices.
func (e *Experiment) slicing(cols int) bool {
	if e.gpu != nil {
		return e.gpu.Products(cols).Digits() > 0
	}
	return e.device != nil && e.device.Products(cols).Digits() > 0
}

// takeIntegers lets features that are small integers be bytes, where products with them would be slices: the graph then sees the bytes,
// and the columns' centres and deviations in the first layer.
func (e *Experiment) takeIntegers(t *datasets.Tables) {
	_, cols := t.Train.Features.Dims()
	if cols < 2 || e.cfg.Dtype != "float32" || !e.slicing(cols) {
		return
	}
	list := t.Integers()
	if list == nil {
		return
	}
	for k, x := range list {
		e.splits[k].data = x.Values
	}
	e.splits[0].data = e.packed(list[0].Values)
	e.t.center, e.t.scale = make([]float64, cols), make([]float64, cols)
	for j := range cols {
		x := list[0]
		e.t.center[j], e.t.scale[j] = x.Stretch[j]*(x.Center[j]-x.First[j]), 1/(x.Stretch[j]*x.Deviation[j])
	}
	e.info.Notes = append(e.info.Notes, fmt.Sprintf("All %d features are small integers before they are standardised: they are kept as bytes.", cols))
}
