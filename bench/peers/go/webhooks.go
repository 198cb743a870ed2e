package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// webhookServer listens on loopback: "PORT,FOLDER" says where, and where its certificate is.
func webhookServer(where string) (webhook.Server, error) {
	port, folder, _ := strings.Cut(where, ",")
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("-webhooks %q: %w", where, err)
	}
	return webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: number, CertDir: folder}), nil
}

func serveWebhooks(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager).
		For(&Widget{}).
		WithValidator(rules{}).
		WithDefaulter(rules{}).
		Complete()
}

// rules: sizes are not below zero, and there is always a mode.
type rules struct{}

func (rules) Default(_ context.Context, object runtime.Object) error {
	if widget := object.(*Widget); widget.Spec.Mode == "" {
		widget.Spec.Mode = "safe"
	}
	return nil
}

func (rules) ValidateCreate(
	_ context.Context, object runtime.Object,
) (admission.Warnings, error) {
	if object.(*Widget).Spec.Size < 0 {
		return nil, errors.New("spec.size: must not be below 0")
	}
	return nil, nil
}

func (r rules) ValidateUpdate(
	ctx context.Context, _, object runtime.Object,
) (admission.Warnings, error) {
	return r.ValidateCreate(ctx, object)
}

func (rules) ValidateDelete(context.Context, runtime.Object) (admission.Warnings, error) {
	return nil, nil
}
