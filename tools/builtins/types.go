package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// reader collects the type declarations of many packages, then writes down what kinds reach.
type reader struct {
	declared map[string]*declaration // by "core/v1.Pod"
	order    []string
	short    map[string]string // import path to short name
	groups   map[string]string // short name to API group
}

type declaration struct {
	spec    *ast.TypeSpec
	doc     string
	imports map[string]string // local name to import path
	short   string
}

// written by hand in Go, or with JSON of their own: the reader of the table knows them by name.
var opaque = map[string]bool{
	"meta/v1.Time": true, "meta/v1.MicroTime": true, "meta/v1.Duration": true,
	"meta/v1.FieldsV1": true, "resource.Quantity": true, "intstr.IntOrString": true,
	"runtime.RawExtension": true, "runtime.Object": true, "apiextensions/v1.JSON": true,
	"apiextensions/v1.JSONSchemaPropsOrArray":       true,
	"apiextensions/v1.JSONSchemaPropsOrBool":        true,
	"apiextensions/v1.JSONSchemaPropsOrStringArray": true,
}

func newReader() *reader {
	found := &reader{declared: map[string]*declaration{}, short: map[string]string{}, groups: map[string]string{}}
	for _, source := range sources {
		found.short[source.module+"/"+source.path] = source.short
	}
	return found
}

func (r *reader) read(directory, path, short string) {
	keep := func(info fs.FileInfo) bool {
		name := info.Name()
		return !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated") &&
			!strings.HasPrefix(name, "generated.") && name != "types_swagger_doc_generated.go"
	}
	packages, err := parser.ParseDir(token.NewFileSet(), directory, keep, parser.ParseComments)
	if err != nil {
		log.Fatalf("%s: %v", path, err)
	}
	for _, found := range packages {
		for _, file := range found.Files {
			r.readFile(file, short)
		}
	}
}

func (r *reader) readFile(file *ast.File, short string) {
	imports := map[string]string{}
	for _, item := range file.Imports {
		path, _ := strconv.Unquote(item.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if item.Name != nil {
			name = item.Name.Name
		}
		imports[name] = path
	}
	for _, node := range file.Decls {
		group, ok := node.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch item := spec.(type) {
			case *ast.TypeSpec:
				name := short + "." + item.Name.Name
				doc := comments(item.Doc) + comments(group.Doc)
				r.declared[name] = &declaration{item, doc, imports, short}
				r.order = append(r.order, name)
			case *ast.ValueSpec:
				if item.Names[0].Name == "GroupName" && len(item.Values) == 1 {
					if literal, ok := item.Values[0].(*ast.BasicLit); ok {
						r.groups[short], _ = strconv.Unquote(literal.Value)
					}
				}
			}
		}
	}
}

func comments(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	lines := make([]string, 0, len(group.List))
	for _, comment := range group.List {
		lines = append(lines, comment.Text)
	}
	return strings.Join(lines, "\n") + "\n"
}

// reachable returns every type that a kind, or a type used by hand, leads to.
func (r *reader) reachable() map[string]any {
	found := map[string]any{}
	var visit func(name string)
	visit = func(name string) {
		if _, done := found[name]; done || opaque[name] {
			return
		}
		declared, ok := r.declared[name]
		if !ok {
			log.Fatalf("type %s is not declared in the packages read", name)
		}
		found[name] = nil
		found[name] = r.describe(declared, visit)
	}
	for _, name := range r.order {
		if !opaque[name] && r.isKind(r.declared[name]) {
			visit(name)
		}
	}
	visit("apiextensions/v1.JSONSchemaProps")
	return found
}

func (r *reader) isKind(declared *declaration) bool {
	structure, ok := declared.spec.Type.(*ast.StructType)
	if !ok || !declared.spec.Name.IsExported() || strings.HasPrefix(declared.short, "runtime") {
		return false
	}
	for _, field := range structure.Fields.List {
		if len(field.Names) == 0 && field.Tag != nil && strings.HasSuffix(r.expression(field.Type, declared, func(string) {}), "meta/v1.TypeMeta") {
			return true
		}
	}
	return false
}

func (r *reader) describe(declared *declaration, visit func(string)) any {
	structure, ok := declared.spec.Type.(*ast.StructType)
	if !ok {
		expression := r.expression(declared.spec.Type, declared, visit)
		if strings.Contains(declared.doc, "+protobuf.nullable=true") {
			return map[string]any{"is": expression, "items": 1}
		}
		return map[string]any{"is": expression}
	}
	fields := [][]any{}
	for _, field := range structure.Fields.List {
		if described := r.field(field, declared, visit); described != nil {
			fields = append(fields, described)
		}
	}
	result := map[string]any{"fields": fields}
	if atomic := markers(declared.doc)["structType"]; len(atomic) > 0 {
		result["map"] = atomic[0]
	}
	return result
}

// field describes one member: JSON name (empty when inlined), type, flags, protobuf tag, rest.
func (r *reader) field(field *ast.Field, declared *declaration, visit func(string)) []any {
	if field.Tag == nil {
		return nil
	}
	text, _ := strconv.Unquote(field.Tag.Value)
	tag := reflect.StructTag(text)
	parts := strings.Split(tag.Get("json"), ",")
	if parts[0] == "-" || (len(field.Names) > 0 && !field.Names[0].IsExported()) {
		return nil
	}
	flags := ""
	for _, option := range parts[1:] {
		switch option {
		case "omitempty":
			flags += "o"
		case "omitzero":
			flags += "z"
		}
	}
	marks := markers(comments(field.Doc))
	if _, optional := marks["optional"]; !optional && flags == "" && parts[0] != "" {
		flags += "r"
	}
	number := 0
	if protobuf := strings.Split(tag.Get("protobuf"), ","); len(protobuf) > 1 {
		number, _ = strconv.Atoi(protobuf[1])
	}
	described := []any{parts[0], r.expression(field.Type, declared, visit), flags, number}
	if rest := extensions(tag, marks); len(rest) > 0 {
		described = append(described, rest)
	}
	return described
}

func extensions(tag reflect.StructTag, marks map[string][]string) map[string]any {
	rest := map[string]any{}
	if value := tag.Get("patchStrategy"); value != "" {
		rest["strategy"] = value
	}
	if value := tag.Get("patchMergeKey"); value != "" {
		rest["key"] = value
	}
	for mark, name := range map[string]string{"listType": "list", "mapType": "map", "structType": "map"} {
		if values := marks[mark]; len(values) > 0 {
			rest[name] = values[len(values)-1]
		}
	}
	if keys := marks["listMapKey"]; len(keys) > 0 {
		rest["keys"] = keys
	}
	if values := marks["default"]; len(values) > 0 {
		var value any
		if json.Unmarshal([]byte(values[0]), &value) == nil {
			rest["default"] = value
		}
	}
	return rest
}

var marker = regexp.MustCompile(`(?m)^//\s*\+([A-Za-z]+)(?:=(.*))?$`)

func markers(doc string) map[string][]string {
	found := map[string][]string{}
	for _, match := range marker.FindAllStringSubmatch(doc, -1) {
		found[match[1]] = append(found[match[1]], strings.TrimSpace(match[2]))
	}
	return found
}

var basic = map[string]bool{
	"string": true, "bool": true, "int": true, "int32": true, "int64": true, "uint32": true,
	"uint64": true, "float64": true, "byte": true, "uint8": true, "uint16": true, "int16": true,
}

// expression writes a Go type: *T, []T, {}T for a map, #pkg.T for a named type, bytes.
func (r *reader) expression(node ast.Expr, declared *declaration, visit func(string)) string {
	switch item := node.(type) {
	case *ast.StarExpr:
		return "*" + r.expression(item.X, declared, visit)
	case *ast.ArrayType:
		if inner, ok := item.Elt.(*ast.Ident); ok && (inner.Name == "byte" || inner.Name == "uint8") {
			return "bytes"
		}
		return "[]" + r.expression(item.Elt, declared, visit)
	case *ast.MapType:
		return "{}" + r.expression(item.Value, declared, visit)
	case *ast.Ident:
		if basic[item.Name] {
			return item.Name
		}
		return r.reference(declared.short+"."+item.Name, visit)
	case *ast.SelectorExpr:
		path := declared.imports[item.X.(*ast.Ident).Name]
		short, ok := r.short[path]
		if !ok {
			log.Fatalf("%s: package %s is not read", declared.spec.Name.Name, path)
		}
		return r.reference(short+"."+item.Sel.Name, visit)
	}
	return "any"
}

func (r *reader) reference(name string, visit func(string)) string {
	visit(name)
	return "#" + name
}
