// Command crd-oracle asks Kubernetes' own validation what it thinks of CRD manifests.
// It prints one line per problem and nothing for a good manifest.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, path := range os.Args[1:] {
		data, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		var crd v1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			fmt.Println(path, err)
			continue
		}
		v1.SetDefaults_CustomResourceDefinition(&crd)
		v1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
		crd.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
		var internal apiextensions.CustomResourceDefinition
		if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, &internal, nil); err != nil {
			panic(err)
		}
		errs := validation.ValidateCustomResourceDefinition(context.Background(), &internal)
		for _, err := range errs {
			fmt.Println(path, err)
		}
	}
}
