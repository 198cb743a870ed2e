// Command protobuf_client writes, reads, lists and watches built-in kinds with client-go, all in
// protobuf and nothing else, and says "ok" when every answer is what it should be.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config := &rest.Config{Host: os.Args[1]}
	plain := kubernetes.NewForConfigOrDie(rest.CopyConfig(config))
	config.ContentType, config.AcceptContentTypes = protobuf, protobuf
	client := kubernetes.NewForConfigOrDie(config)

	replicas := int32(0)
	labels := map[string]string{"app": "x"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "c", Image: "i",
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1500m")}},
				}}},
			},
		},
	}
	_, err := client.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{})
	check(err)
	inProtobuf, err := client.AppsV1().Deployments("default").Get(ctx, "d", metav1.GetOptions{})
	check(err)
	inJSON, err := plain.AppsV1().Deployments("default").Get(ctx, "d", metav1.GetOptions{})
	check(err)
	expect(reflect.DeepEqual(inProtobuf, inJSON), "protobuf and JSON differ:\n%v\n%v", inProtobuf, inJSON)
	scale, err := client.AppsV1().Deployments("default").GetScale(ctx, "d", metav1.GetOptions{})
	check(err)
	expect(scale.Name == "d", "scale of %q", scale.Name)

	_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "none", metav1.GetOptions{})
	expect(apierrors.IsNotFound(err), "expected a NotFound, got %v", err)

	seen := make(chan string, 16)
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(each any) { seen <- "add " + each.(*corev1.ConfigMap).Name },
		DeleteFunc: func(each any) { seen <- "delete " + each.(*corev1.ConfigMap).Name },
	})
	check(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, BinaryData: map[string][]byte{"b": {0, 255}}}
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, data, metav1.CreateOptions{})
	check(err)
	wait(ctx, seen, "add a")
	check(client.CoreV1().ConfigMaps("default").Delete(ctx, "a", metav1.DeleteOptions{}))
	wait(ctx, seen, "delete a")

	partial := metadata.NewForConfigOrDie(config)
	found, err := partial.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).List(ctx, metav1.ListOptions{})
	check(err)
	expect(len(found.Items) == 1 && found.Items[0].Labels["app"] == "x", "metadata of %d deployments", len(found.Items))
	fmt.Println("ok")
}

func wait(ctx context.Context, seen <-chan string, wanted string) {
	for {
		select {
		case each := <-seen:
			if each == wanted {
				return
			}
		case <-ctx.Done():
			log.Fatalf("no event %q", wanted)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(holds bool, format string, values ...any) {
	if !holds {
		log.Fatalf(format, values...)
	}
}
