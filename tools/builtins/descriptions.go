package main

import (
	"encoding/json"
	"go/ast"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// writeDescriptions makes a Python package that holds what the published modules say about their
// types and members, by type and JSON name; "" is the type itself. The texts belong to Kubernetes
// (Apache License 2.0), so the package is made where it is wanted and never committed.
func (r *reader) writeDescriptions(folder, version string, types map[string]any) {
	found := map[string]map[string]string{}
	for name := range types {
		declared := r.declared[name]
		texts := map[string]string{}
		if text := prose(declared.doc); text != "" {
			texts[""] = text
		}
		if structure, ok := declared.spec.Type.(*ast.StructType); ok {
			describeMembers(structure, texts)
		}
		if len(texts) > 0 {
			found[name] = texts
		}
	}
	content, err := json.Marshal(found)
	if err != nil {
		log.Fatal(err)
	}
	target := filepath.Join(folder, packageName)
	if err := os.MkdirAll(target, 0o755); err != nil {
		log.Fatal(err)
	}
	save(filepath.Join(target, "descriptions.json"), content)
	save(filepath.Join(target, "__init__.py"), []byte("\"\"\"What k8s.io/api says about its types (Apache License 2.0).\"\"\"\n"))
	save(filepath.Join(folder, "pyproject.toml"), []byte(strings.ReplaceAll(project, "VERSION", strings.TrimPrefix(version, "v"))))
	log.Printf("descriptions of %d types", len(found))
}

const packageName = "quarterdeck_kubernetes_descriptions"

const project = `[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "quarterdeck-kubernetes-descriptions"
version = "VERSION"
description = "Descriptions of Kubernetes' built-in kinds, from the published k8s.io modules"
license = "Apache-2.0"

[tool.hatch.build.targets.wheel]
packages = ["` + packageName + `"]
`

func describeMembers(structure *ast.StructType, texts map[string]string) {
	for _, field := range structure.Fields.List {
		if field.Tag == nil {
			continue
		}
		text, _ := strconv.Unquote(field.Tag.Value)
		name := strings.Split(reflect.StructTag(text).Get("json"), ",")[0]
		if said := prose(comments(field.Doc)); name != "" && name != "-" && said != "" {
			texts[name] = said
		}
	}
}

// prose joins the lines of a comment to paragraphs, without markers, notes, and what stands behind
// a line of dashes; indented lines stay lines.
func prose(comment string) string {
	paragraphs := []string{""}
	add := func(text string) { paragraphs[len(paragraphs)-1] += text }
	for _, line := range strings.Split(comment, "\n") {
		line = strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "), " ")
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case line == "---":
			return finish(paragraphs)
		case strings.HasPrefix(trimmed, "+") || strings.HasPrefix(trimmed, "TODO"):
		case trimmed == "":
			paragraphs = append(paragraphs, "")
		case line != trimmed:
			add("\n" + line + "\n")
		default:
			if last := paragraphs[len(paragraphs)-1]; last != "" && !strings.HasSuffix(last, "\n") {
				add(" ")
			}
			add(line)
		}
	}
	return finish(paragraphs)
}

func finish(paragraphs []string) string {
	kept := []string{}
	for _, each := range paragraphs {
		if text := strings.Trim(each, "\n"); text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n\n")
}
