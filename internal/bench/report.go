package bench

// Report holds the results of a run and describes the machine.
type Report struct {
	Cases   []Result `json:"cases,omitempty"`
	Memory  []Memory `json:"memory,omitempty"`
	Growth  *Growth  `json:"growth,omitempty"`
	Machine Machine  `json:"machine"`
	Notes   []string `json:"notes,omitempty"`
}

// Machine describes what the results depend on besides the case.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Threads int    `json:"threads"`
	Kernels string `json:"kernels"` // level of the kernels' instructions
	Dtype   string `json:"dtype"`
	Version string `json:"version"` // version of the program
}
