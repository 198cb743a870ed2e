// An operator on controller-runtime that does what the others of the suite do:
// status.seen = spec.size, one write for each object. Flags: see main.
//
// It prints "ready", waits for a line on its standard input, runs, and ends with its input.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"
)

type Port struct {
	Name string `json:"name"`
	Port int64  `json:"port,omitempty"`
}

type WidgetSpec struct {
	Size  int64  `json:"size"`
	Text  string `json:"text,omitempty"`
	Mode  string `json:"mode,omitempty"`
	Ports []Port `json:"ports,omitempty"`
}

type WidgetStatus struct {
	Seen int64 `json:"seen,omitempty"`
}

type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}

type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

func (in *Widget) DeepCopyInto(out *Widget) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Ports = append([]Port(nil), in.Spec.Ports...)
}

func (in *Widget) DeepCopyObject() runtime.Object {
	out := new(Widget)
	in.DeepCopyInto(out)
	return out
}

func (in *WidgetList) DeepCopyObject() runtime.Object {
	out := &WidgetList{TypeMeta: in.TypeMeta, Items: make([]Widget, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for index := range in.Items {
		in.Items[index].DeepCopyInto(&out.Items[index])
	}
	return out
}

const bonusName = "bonus"

// reconciler gives each object its status; with addsBonus that is more by what a ConfigMap says.
type reconciler struct {
	client.Client
	addsBonus bool
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	bonus, err := r.bonus(ctx, request.Namespace)
	if err != nil || widget.Status.Seen == widget.Spec.Size+bonus {
		return ctrl.Result{}, err
	}
	before := client.MergeFrom(widget.DeepCopyObject().(*Widget))
	widget.Status.Seen = widget.Spec.Size + bonus
	return ctrl.Result{}, client.IgnoreNotFound(r.Status().Patch(ctx, &widget, before))
}

func (r *reconciler) bonus(ctx context.Context, namespace string) (int64, error) {
	if !r.addsBonus {
		return 0, nil
	}
	var config corev1.ConfigMap
	key := client.ObjectKey{Namespace: namespace, Name: bonusName}
	if err := r.Get(ctx, key, &config); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	return strconv.ParseInt(config.Data["size"], 10, 64)
}

// everybody maps the ConfigMap to all objects beside it.
func (r *reconciler) everybody(ctx context.Context, config client.Object) []reconcile.Request {
	var widgets WidgetList
	if config.GetName() != bonusName ||
		r.List(ctx, &widgets, client.InNamespace(config.GetNamespace())) != nil {
		return nil
	}
	requests := make([]reconcile.Request, len(widgets.Items))
	for index := range widgets.Items {
		requests[index].NamespacedName = client.ObjectKeyFromObject(&widgets.Items[index])
	}
	return requests
}

func main() {
	lease := flag.String("lease", "", "take part in an election: `LEASE,RENEW,RETRY` in seconds")
	fanOut := flag.Bool("fan-out", false, "add what a ConfigMap says, and watch it")
	webhooks := flag.String("webhooks", "", "serve webhooks: `PORT,FOLDER` with tls.crt and tls.key")
	flag.Parse()
	if err := run(flag.Arg(0), *lease, *fanOut, *webhooks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, lease string, fanOut bool, webhooks string) error {
	log.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	options, err := managerOptions(lease)
	if err != nil {
		return err
	}
	if webhooks != "" {
		if options.WebhookServer, err = webhookServer(webhooks); err != nil {
			return err
		}
	}
	if !waitForWord() {
		return nil
	}
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	widgets := &reconciler{Client: manager.GetClient(), addsBonus: fanOut}
	controllers := ctrl.NewControllerManagedBy(manager).
		For(&Widget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 20})
	if fanOut {
		controllers = controllers.Watches(
			&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(widgets.everybody))
	}
	if err := controllers.Complete(widgets); err != nil {
		return err
	}
	if webhooks != "" {
		if err := serveWebhooks(manager); err != nil {
			return err
		}
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func managerOptions(lease string) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, version)
	if err := corev1.AddToScheme(scheme); err != nil {
		return ctrl.Options{}, err
	}
	options := ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}}
	if lease == "" {
		return options, nil
	}
	var seconds [3]float64
	if _, err := fmt.Sscanf(lease, "%g,%g,%g", &seconds[0], &seconds[1], &seconds[2]); err != nil {
		return options, fmt.Errorf("-lease %q: %w", lease, err)
	}
	var spans [3]time.Duration
	for index, each := range seconds {
		spans[index] = time.Duration(each * float64(time.Second))
	}
	options.LeaderElection = true
	options.LeaderElectionID = "bench"
	options.LeaderElectionNamespace = "default"
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod =
		&spans[0], &spans[1], &spans[2]
	return options, nil
}

// waitForWord says that everything is ready, waits, and from then on ends with the input.
func waitForWord() bool {
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := input.ReadString('\n'); err != nil {
		return false
	}
	go func() {
		_, _ = io.Copy(io.Discard, input)
		os.Exit(0)
	}()
	return true
}
