package style

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The files for Slurm and Kubernetes in docs/guides/processes.md are valid: a shell and a YAML
// parser read them, and the workers of an MPIJob have the processes that mpirun starts.
func TestJobs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "processes.md"))
	if err != nil {
		t.Fatal(err)
	}
	scripts, jobs := 0, 0
	for _, block := range regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if block[1] == "sh" {
			if !strings.HasPrefix(block[2], "#!/bin/bash\n#SBATCH") {
				continue
			}
			scripts++
			check := exec.Command("bash", "-n")
			check.Stdin = strings.NewReader(block[2])
			if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s\n%s", err, out, block[2])
			}
			continue
		}
		jobs++
		type template struct {
			Replicas int
			Template struct {
				Spec struct {
					Containers []struct {
						Command   []string
						Resources struct{ Limits map[string]string }
					}
				}
			}
		}
		var job struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Spec       struct {
				SlotsPerWorker  int                 `yaml:"slotsPerWorker"`
				MPIReplicaSpecs map[string]template `yaml:"mpiReplicaSpecs"`
			}
		}
		if err := yaml.Unmarshal([]byte(block[2]), &job); err != nil {
			t.Errorf("%v\n%s", err, block[2])
			continue
		}
		launcher, worker := job.Spec.MPIReplicaSpecs["Launcher"], job.Spec.MPIReplicaSpecs["Worker"]
		if job.APIVersion != "kubeflow.org/v2beta1" || job.Kind != "MPIJob" || job.Spec.SlotsPerWorker != 1 || worker.Replicas != 4 ||
			len(launcher.Template.Spec.Containers) != 1 || len(worker.Template.Spec.Containers) != 1 {
			t.Errorf("not an MPIJob with a launcher and 4 workers:\n%s", block[2])
			continue
		}
		command := strings.Join(launcher.Template.Spec.Containers[0].Command, " ")
		if !strings.HasPrefix(command, "mpirun -n 4 --map-by ppr:1:node ") {
			t.Errorf("the command is %s", command)
		}
		limits := worker.Template.Spec.Containers[0].Resources.Limits
		if gpu := strings.Contains(command, "ppal-mpi-gpu train"); gpu != (limits["nvidia.com/gpu"] == "1") || gpu != strings.Contains(command, "--device cuda") {
			t.Errorf("%s with the limits %v", command, limits)
		}
	}
	if scripts != 1 || jobs != 1 {
		t.Errorf("docs/guides/processes.md has %d scripts for sbatch and %d MPIJobs, want 1 of each", scripts, jobs)
	}
}
