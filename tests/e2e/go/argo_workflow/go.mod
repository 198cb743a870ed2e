module argoworkflow

go 1.24.2

require (
	github.com/argoproj/argo-workflows/v3 v3.6.10
	k8s.io/apimachinery v0.32.2
	sigs.k8s.io/yaml v1.4.0
)
