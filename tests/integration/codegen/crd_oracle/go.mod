module quarterdeck.test/crd-oracle

go 1.23

require (
	k8s.io/apiextensions-apiserver v0.32.4
	sigs.k8s.io/yaml v1.4.0
)
