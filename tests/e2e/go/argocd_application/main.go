// Validates Applications with Argo CD's own code: reads YAML documents, Applications and Secrets of
// clusters, and prints one line per problem.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/argoproj/argo-cd/v3/util/db"
	"github.com/argoproj/argo-cd/v3/util/settings"
)

const namespace = "argocd"

func main() {
	if err := run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(input io.Reader) error {
	objects := []runtime.Object{
		labeled(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Namespace: namespace}}),
		labeled(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: namespace},
			Data:       map[string][]byte{"server.secretkey": []byte("test")},
		}),
	}
	var apps []*v1alpha1.Application
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
		case "Application":
			app := &v1alpha1.Application{}
			if err := yaml.UnmarshalStrict(document, app); err != nil {
				return fmt.Errorf("Application: %w", err)
			}
			apps = append(apps, app)
		case "Secret":
			secret := &corev1.Secret{}
			if err := yaml.UnmarshalStrict(document, secret); err != nil {
				return fmt.Errorf("Secret: %w", err)
			}
			secret.Data = map[string][]byte{}
			for key, value := range secret.StringData {
				secret.Data[key] = []byte(value)
			}
			objects = append(objects, secret)
		}
	}
	ctx := context.Background()
	client := fake.NewClientset(objects...)
	manager := settings.NewSettingsManager(ctx, client, namespace)
	database := db.NewDB(namespace, manager, client)
	for _, app := range apps {
		conditions, err := argo.ValidatePermissions(ctx, &app.Spec, project(), database)
		if err != nil {
			return fmt.Errorf("%s: %w", app.Name, err)
		}
		for _, condition := range conditions {
			fmt.Printf("%s: %s: %s\n", app.Name, condition.Type, condition.Message)
		}
		if spec := argo.NormalizeApplicationSpec(&app.Spec); spec.Project != app.Spec.Project {
			fmt.Printf("%s: the project changes when it is normalized\n", app.Name)
		}
	}
	fmt.Printf("checked %d\n", len(apps))
	return nil
}

func labeled[T metav1.Object](object T) T {
	object.SetLabels(map[string]string{"app.kubernetes.io/part-of": "argocd"})
	return object
}

func project() *v1alpha1.AppProject {
	return &v1alpha1.AppProject{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace},
		Spec: v1alpha1.AppProjectSpec{
			SourceRepos:  []string{"*"},
			Destinations: []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}},
		},
	}
}
