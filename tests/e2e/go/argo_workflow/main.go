// Validates Workflows with Argo Workflows' own code: reads YAML documents, templates and Workflows
// in any order, and prints one line per problem and, at the end, how many were checked.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-workflows/v3/pkg/apis/workflow/v1alpha1"
	"github.com/argoproj/argo-workflows/v3/workflow/validate"
)

type templates map[string]*v1alpha1.WorkflowTemplate

func (known templates) Get(name string) (*v1alpha1.WorkflowTemplate, error) {
	if found, ok := known[name]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("there is no WorkflowTemplate %q", name)
}

type clusterTemplates map[string]*v1alpha1.ClusterWorkflowTemplate

func (known clusterTemplates) Get(name string) (*v1alpha1.ClusterWorkflowTemplate, error) {
	if found, ok := known[name]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("there is no ClusterWorkflowTemplate %q", name)
}

func main() {
	if err := run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(input io.Reader) error {
	local, global := templates{}, clusterTemplates{}
	var workflows []*v1alpha1.Workflow
	reader := utilyaml.NewYAMLReader(bufio.NewReader(input))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		var head metav1.TypeMeta
		if err := yaml.Unmarshal(document, &head); err != nil {
			return err
		}
		switch head.Kind {
		case "WorkflowTemplate":
			found := &v1alpha1.WorkflowTemplate{}
			if err := yaml.UnmarshalStrict(document, found); err != nil {
				return fmt.Errorf("WorkflowTemplate: %w", err)
			}
			local[found.Name] = found
		case "ClusterWorkflowTemplate":
			found := &v1alpha1.ClusterWorkflowTemplate{}
			if err := yaml.UnmarshalStrict(document, found); err != nil {
				return fmt.Errorf("ClusterWorkflowTemplate: %w", err)
			}
			global[found.Name] = found
		case "Workflow":
			found := &v1alpha1.Workflow{}
			if err := yaml.UnmarshalStrict(document, found); err != nil {
				return fmt.Errorf("Workflow: %w", err)
			}
			workflows = append(workflows, found)
		default:
			return fmt.Errorf("unexpected kind %q", head.Kind)
		}
	}
	return check(local, global, workflows)
}

func check(local templates, global clusterTemplates, workflows []*v1alpha1.Workflow) error {
	for name, template := range local {
		if err := validate.ValidateWorkflowTemplate(local, global, template, validate.ValidateOpts{}); err != nil {
			fmt.Printf("WorkflowTemplate %s: %v\n", name, err)
		}
	}
	for _, workflow := range workflows {
		if err := validate.ValidateWorkflow(local, global, workflow, validate.ValidateOpts{Submit: true}); err != nil {
			fmt.Printf("Workflow %s: %v\n", workflow.Name, err)
		}
	}
	fmt.Printf("checked %d\n", len(local)+len(workflows))
	return nil
}
