package bench

// Report is what a run measured, and where.
type Report struct {
	Cases   []Result `json:"cases,omitempty"`
	Memory  []Memory `json:"memory,omitempty"`
	Growth  *Growth  `json:"growth,omitempty"`
	Machine Machine  `json:"machine"`
	Notes   []string `json:"notes,omitempty"`
}

// Machine is what the figures depend on beside the case.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Threads int    `json:"threads"`
	Kernels string `json:"kernels"` // the level of their instructions
	Dtype   string `json:"dtype"`
	Version string `json:"version"` // of the program
}
