// Reads compose.yaml as Docker Compose does, and manifests as a server of Kubernetes does: what they do not know is an error.
//
//	checks compose FILE      prints what becomes of it, with this environment, as JSON
//	checks kubernetes FILE   prints a line for each object
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	read := map[string]func(string) error{"compose": compose, "kubernetes": kubernetes}[os.Args[1]]
	if err := read(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compose(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithOsEnv, cli.WithDefaultProfiles())
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(project)
}

func kubernetes(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			return err
		}
		objects := map[string]any{
			"apps/v1 Deployment":            &appsv1.Deployment{},
			"v1 Service":                    &corev1.Service{},
			"policy/v1 PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
		}
		name := head.APIVersion + " " + head.Kind
		object, isKnown := objects[name]
		if !isKnown {
			return fmt.Errorf("%q is none of the kinds that are looked at here", name)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println(name)
	}
	return nil
}
