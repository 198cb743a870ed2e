// Package envtest runs controller-runtime's envtest against the programs of `quarterdeck envtest`.
package envtest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var (
	environment *envtest.Environment
	config      *rest.Config
	admin       client.Client
	widgets     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

func TestMain(m *testing.M) {
	environment = &envtest.Environment{
		CRDDirectoryPaths:     []string{"crds"},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{configMapWebhook()},
		},
	}
	started := time.Now()
	var err error
	if config, err = environment.Start(); err != nil {
		panic(err)
	}
	println("envtest started in", time.Since(started).Milliseconds(), "ms")
	if admin, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		panic(err)
	}
	code := m.Run()
	if err = environment.Stop(); err != nil {
		panic(err)
	}
	os.Exit(code)
}

func configMapWebhook() *admissionv1.ValidatingWebhookConfiguration {
	none, fail, path := admissionv1.SideEffectClassNone, admissionv1.Fail, "/validate"
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "names"},
		TypeMeta: metav1.TypeMeta{
			Kind: "ValidatingWebhookConfiguration", APIVersion: "admissionregistration.k8s.io/v1",
		},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "names.example.com", AdmissionReviewVersions: []string{"v1"},
			SideEffects: &none, FailurePolicy: &fail,
			ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Name: "hook", Namespace: "default", Path: &path},
			},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"checked": "yes"}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
		}},
	}
}

func newWidget(name string) *unstructured.Unstructured {
	widget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	widget.SetGroupVersionKind(widgets)
	widget.SetNamespace("default")
	widget.SetName(name)
	return widget
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Fatalf("timed out: %s", what)
}

func TestCustomResourcesFollowTheirDefinition(t *testing.T) {
	ctx := context.Background()
	widget := newWidget("first")
	if err := admin.Create(ctx, widget); err != nil {
		t.Fatal(err)
	}
	bad := newWidget("bad")
	bad.Object["spec"] = map[string]any{"size": int64(-1)}
	if err := admin.Create(ctx, bad); !apierrors.IsInvalid(err) {
		t.Fatalf("expected Invalid, got %v", err)
	}
	stale := widget.DeepCopy()
	widget.Object["spec"] = map[string]any{"size": int64(2)}
	if err := admin.Update(ctx, widget); err != nil {
		t.Fatal(err)
	}
	stale.Object["spec"] = map[string]any{"size": int64(3)}
	if err := admin.Update(ctx, stale); !apierrors.IsConflict(err) {
		t.Fatalf("expected Conflict, got %v", err)
	}
	widget.Object["status"] = map[string]any{"phase": "Ready"}
	if err := admin.Status().Update(ctx, widget); err != nil {
		t.Fatal(err)
	}
	if widget.GetGeneration() != 2 {
		t.Fatalf("generation is %d", widget.GetGeneration())
	}
}

type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	deployment := &appsv1.Deployment{}
	if err := r.Get(ctx, request.NamespacedName, deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: request.Name, Namespace: request.Namespace}}
	err := ctrl.SetControllerReference(deployment, marker, r.Scheme())
	if err == nil {
		err = r.Create(ctx, marker)
	}
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return ctrl.Result{}, err
}

func TestManagerReconcilesThroughItsCache(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "test", LeaderElectionNamespace: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	build := ctrl.NewControllerManagedBy(manager).For(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{})
	if err := build.Complete(reconciler{manager.GetClient()}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
	if err := admin.Create(ctx, deployment); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "default", Name: "web"}
	eventually(t, "the owned ConfigMap", func() bool {
		return admin.Get(ctx, key, &corev1.ConfigMap{}) == nil
	})
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestUsersHaveOnlyTheirRoles(t *testing.T) {
	ctx := context.Background()
	user, err := environment.AddUser(envtest.User{Name: "alice", Groups: []string{"devs"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	alice, err := client.New(user.Config(), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := alice.List(ctx, &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Fatalf("expected Forbidden, got %v", err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "secret-reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "devs-read-secrets"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "devs"}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := admin.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the granted list", func() bool { return alice.List(ctx, &corev1.SecretList{}) == nil })
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "secrets"},
	}}
	if err := alice.Create(ctx, review); err != nil || review.Status.Allowed {
		t.Fatalf("delete of secrets: %v, %v", review.Status, err)
	}
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, object runtime.Object) (admission.Warnings, error) {
	if object.(*corev1.ConfigMap).Data["good"] != "yes" {
		return nil, errors.New("data.good must be yes")
	}
	return admission.Warnings{"looks good"}, nil
}

func (validator) ValidateUpdate(context.Context, runtime.Object, runtime.Object) (admission.Warnings, error) {
	return nil, nil
}

func (validator) ValidateDelete(context.Context, runtime.Object) (admission.Warnings, error) {
	return nil, nil
}

func TestWebhooksOfTheSuiteAreCalled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	options := environment.WebhookInstallOptions
	hooks := webhook.NewServer(webhook.Options{
		Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
	})
	hooks.Register("/validate", admission.WithCustomValidator(scheme.Scheme, &corev1.ConfigMap{}, validator{}))
	go func() { _ = hooks.Start(ctx) }()
	eventually(t, "the webhook server", func() bool { return hooks.StartedChecker()(nil) == nil })
	made := func(name, good string) error {
		return admin.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "default", Labels: map[string]string{"checked": "yes"},
			},
			Data: map[string]string{"good": good},
		})
	}
	if err := made("refused", "no"); !apierrors.IsForbidden(err) {
		t.Fatalf("expected Forbidden, got %v", err)
	}
	if err := made("accepted", "yes"); err != nil {
		t.Fatal(err)
	}
}

func TestObjectsSurviveARestartOfTheServerAlone(t *testing.T) {
	ctx := context.Background()
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: "default"}}
	if err := admin.Create(ctx, kept); err != nil {
		t.Fatal(err)
	}
	server := environment.ControlPlane.GetAPIServer()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	user, err := environment.AddUser(envtest.User{Name: "later", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	later, err := client.New(user.Config(), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	found := &corev1.ConfigMap{}
	eventually(t, "the object after the restart", func() bool {
		return later.Get(ctx, client.ObjectKeyFromObject(kept), found) == nil
	})
	if found.UID != kept.UID {
		t.Fatalf("uid %s became %s", kept.UID, found.UID)
	}
}
