// Command builtins writes the table of built-in kinds that quarterdeck.meta.builtins reads.
//
// It parses the published Go modules named below and keeps facts only: names, types, tags and
// markers. Run it from the root of the repository: go run -C tools/builtins . (needs Go and a
// module proxy), with -release 1.36 or 1.37 for newer ones. The results are committed, so nobody else
// needs Go.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// sources are the packages of every release.
var sources = []source{
	{"k8s.io/api", "core/v1", "core/v1"},
	{"k8s.io/api", "apps/v1", "apps/v1"},
	{"k8s.io/api", "batch/v1", "batch/v1"},
	{"k8s.io/api", "coordination/v1", "coordination/v1"},
	{"k8s.io/api", "events/v1", "events/v1"},
	{"k8s.io/api", "rbac/v1", "rbac/v1"},
	{"k8s.io/api", "admissionregistration/v1", "admissionregistration/v1"},
	{"k8s.io/api", "admissionregistration/v1alpha1", "admissionregistration/v1alpha1"},
	{"k8s.io/api", "policy/v1", "policy/v1"},
	{"k8s.io/api", "networking/v1", "networking/v1"},
	{"k8s.io/api", "storage/v1", "storage/v1"},
	{"k8s.io/api", "autoscaling/v1", "autoscaling/v1"},
	{"k8s.io/api", "autoscaling/v2", "autoscaling/v2"},
	{"k8s.io/api", "discovery/v1", "discovery/v1"},
	{"k8s.io/api", "authentication/v1", "authentication/v1"},
	{"k8s.io/api", "authorization/v1", "authorization/v1"},
	{"k8s.io/api", "scheduling/v1", "scheduling/v1"},
	{"k8s.io/api", "node/v1", "node/v1"},
	{"k8s.io/api", "certificates/v1", "certificates/v1"},
	{"k8s.io/api", "flowcontrol/v1", "flowcontrol/v1"},
	{"k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1", "apiextensions/v1"},
	{"k8s.io/kube-aggregator", "pkg/apis/apiregistration/v1", "apiregistration/v1"},
	{"k8s.io/apimachinery", "pkg/apis/meta/v1", "meta/v1"},
	{"k8s.io/apimachinery", "pkg/api/resource", "resource"},
	{"k8s.io/apimachinery", "pkg/runtime", "runtime"},
	{"k8s.io/apimachinery", "pkg/util/intstr", "intstr"},
	{"k8s.io/apimachinery", "pkg/types", "types"},
}

// table is the file that is written; keys are short because the file is shipped.
type table struct {
	Modules   map[string]string     `json:"modules"`
	Groups    map[string]string     `json:"groups"`
	Packages  map[string]string     `json:"packages"`
	Types     map[string]any        `json:"types"`
	Resources map[string][]resource `json:"resources"`
}

type resource struct {
	Name       string   `json:"name"`
	Singular   string   `json:"singular,omitempty"`
	Kind       string   `json:"kind"`
	Group      string   `json:"group,omitempty"`
	Version    string   `json:"version,omitempty"`
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs"`
	ShortNames []string `json:"shortNames,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

func main() {
	recorded := flag.String("recorded", "../../tests/golden", "folder of the recorded discovery documents")
	out := flag.String("out", "../../src/quarterdeck/meta/builtins", "folder to write to")
	descriptions := flag.String("descriptions", "", "folder to make the package of descriptions in, instead of the table")
	name := flag.String("release", "1.32", "release of Kubernetes: 1.32, 1.36 or 1.37")
	flag.Parse()
	log.SetFlags(0)
	chosen, ok := releases[*name]
	if !ok {
		log.Fatalf("unknown release %q", *name)
	}
	sources = append(sources, chosen.sources...)

	result := table{
		Modules:   map[string]string{},
		Groups:    map[string]string{},
		Packages:  map[string]string{},
		Types:     map[string]any{},
		Resources: readDiscovery(filepath.Join(*recorded, chosen.discovery)),
	}
	for version, found := range chosen.resources {
		result.Resources[version] = append(result.Resources[version], found...)
	}
	reader := newReader()
	for _, source := range sources {
		result.Modules[source.module] = chosen.module
		directory := filepath.Join(moduleDirectory(source.module, chosen.module), source.path)
		reader.read(directory, source.module+"/"+source.path, source.short)
		result.Packages[source.short] = openAPIName(source.module + "/" + source.path)
		if group, ok := reader.groups[source.short]; ok && strings.Contains(source.short, "/") && source.short != "meta/v1" {
			result.Groups[strings.TrimPrefix(group+"/"+filepath.Base(source.path), "/")] = source.short
		}
	}
	result.Types = reader.reachable()
	if *descriptions != "" {
		reader.writeDescriptions(*descriptions, chosen.module, result.Types)
		return
	}
	write(*out, chosen.file, result)
	log.Printf("%d types", len(result.Types))
}

func moduleDirectory(module, version string) string {
	command := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		log.Fatalf("download %s: %v", module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(output, &found); err != nil {
		log.Fatal(err)
	}
	return found.Dir
}

// openAPIName turns an import path into the prefix OpenAPI documents use.
func openAPIName(path string) string {
	parts := strings.Split(path, "/")
	host := strings.Split(parts[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(host, parts[1:]...), ".")
}

func readDiscovery(path string) map[string][]resource {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	documents := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &documents); err != nil {
		log.Fatal(err)
	}
	found := map[string][]resource{}
	for _, document := range documents {
		var list struct {
			Kind, GroupVersion string
			Resources          []struct {
				resource
				SingularName string `json:"singularName"`
			}
		}
		if json.Unmarshal(document, &list) != nil || list.Kind != "APIResourceList" {
			continue
		}
		for _, item := range list.Resources {
			item.Singular = item.SingularName
			found[list.GroupVersion] = append(found[list.GroupVersion], item.resource)
		}
	}
	return found
}

// write puts one type on a line, so that a new version can be reviewed as a diff.
func write(folder, file string, result table) {
	var text bytes.Buffer
	text.WriteString("{\n")
	section(&text, "modules", result.Modules, ",\n")
	section(&text, "groups", result.Groups, ",\n")
	section(&text, "packages", result.Packages, ",\n")
	section(&text, "resources", result.Resources, ",\n")
	text.WriteString("\"types\":{\n")
	names := make([]string, 0, len(result.Types))
	for name := range result.Types {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		end := ",\n"
		if i == len(names)-1 {
			end = "\n"
		}
		section(&text, name, result.Types[name], end)
	}
	text.WriteString("}\n}\n")
	sum := sha256.Sum256(text.Bytes())
	save(filepath.Join(folder, file+".json"), text.Bytes())
	save(filepath.Join(folder, file+".sha256"), []byte(hex.EncodeToString(sum[:])+"\n"))
}

func section(text *bytes.Buffer, name string, value any, end string) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(text, "%q:%s%s", name, bytes.TrimSpace(encoded.Bytes()), end)
}

func save(path string, content []byte) {
	if err := os.WriteFile(path, content, 0o644); err != nil {
		log.Fatal(err)
	}
}
