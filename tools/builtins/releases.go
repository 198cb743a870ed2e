package main

import "strings"

// source names a module, a package of it, and the short name the table uses for the package.
type source struct{ module, path, short string }

// release says what the table of one release of Kubernetes is made of.
type release struct {
	module    string // the version of the k8s.io modules
	file      string // the name of the table, without its suffix
	discovery string // the recorded discovery documents that its resources begin with
	sources   []source
	resources map[string][]resource // served besides what discovery recorded
}

// releases are those a server can be; the first is the one it is by default.
var releases = map[string]release{
	"1.32": {module: "v0.32.4", file: "table", discovery: "discovery-v1.32.4.json"},
	"1.36": {
		module:    "v0.36.3",
		file:      "table-1.36",
		discovery: "discovery-v1.36.3.json",
		sources: []source{
			{"k8s.io/api", "resource/v1", "resource/v1"},
		},
	},
	"1.37": {
		module:    "v0.37.2",
		file:      "table-1.37",
		discovery: "discovery-v1.36.3.json",
		sources: []source{
			{"k8s.io/api", "resource/v1", "resource/v1"},
			{"k8s.io/api", "storagemigration/v1", "storagemigration/v1"},
			{"k8s.io/api", "scheduling/v1alpha3", "scheduling/v1alpha3"},
		},
		resources: map[string][]resource{
			"certificates.k8s.io/v1": {
				whole("clustertrustbundles", "ClusterTrustBundle", false),
				whole("podcertificaterequests", "PodCertificateRequest", true),
				part("podcertificaterequests/status", "PodCertificateRequest", true),
			},
			"resource.k8s.io/v1": {
				whole("devicetaintrules", "DeviceTaintRule", false),
				part("devicetaintrules/status", "DeviceTaintRule", false),
			},
			"storage.k8s.io/v1": {
				part("csinodes/status", "CSINode", false),
			},
			"storagemigration.k8s.io/v1": {
				whole("storageversionmigrations", "StorageVersionMigration", false),
				part("storageversionmigrations/status", "StorageVersionMigration", false),
			},
		},
	},
}

// whole is a resource with every verb.
func whole(name, kind string, namespaced bool) resource {
	verbs := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	return resource{Name: name, Singular: strings.ToLower(kind), Kind: kind, Namespaced: namespaced, Verbs: verbs}
}

// part is a subresource that is read and written.
func part(name, kind string, namespaced bool) resource {
	return resource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: []string{"get", "patch", "update"}}
}
