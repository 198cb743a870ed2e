// Runs Alloy's own runtime and its remotecfg service with two components, and prints as JSON which
// components of the remote configuration run, whenever that changes.
//
// It is built inside an unpacked copy of Alloy, whose packages are internal: all components
// together take an hour to build.
package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/grafana/alloy/internal/alloyseed"
	"github.com/grafana/alloy/internal/component"
	_ "github.com/grafana/alloy/internal/component/local/file"
	_ "github.com/grafana/alloy/internal/component/remote/http"
	"github.com/grafana/alloy/internal/featuregate"
	"github.com/grafana/alloy/internal/runtime"
	"github.com/grafana/alloy/internal/runtime/logging"
	"github.com/grafana/alloy/internal/service"
	"github.com/grafana/alloy/internal/service/livedebugging"
	"github.com/grafana/alloy/internal/service/remotecfg"
)

const lookEvery = 100 * time.Millisecond

func main() {
	path, storage := os.Args[1], os.Args[2]
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	log, err := logging.New(os.Stderr, logging.DefaultOptions)
	check(err)
	alloyseed.Init(storage, log)
	registry := prometheus.NewRegistry()
	remote, err := remotecfg.New(remotecfg.Options{
		Logger: log, StoragePath: storage, ConfigPath: path, Metrics: registry,
	})
	check(err)
	controller := runtime.New(runtime.Options{
		Logger: log, DataPath: storage, Reg: registry,
		MinStability: featuregate.StabilityGenerallyAvailable,
		Services:     []service.Service{livedebugging.New(), remote},
	})
	text, err := os.ReadFile(path)
	check(err)
	source, err := runtime.ParseSource(path, text)
	check(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		controller.Run(ctx)
	}()
	check(controller.LoadSource(source, nil, path))
	report(ctx, remote)
	<-done
}

// report prints the running components, as often as they change.
func report(ctx context.Context, remote *remotecfg.Service) {
	var before []string
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		host := remote.Data().(remotecfg.Data).Host
		if host == nil {
			continue
		}
		now := list(host, "")
		slices.Sort(now)
		if before == nil || !slices.Equal(before, now) {
			check(json.NewEncoder(os.Stdout).Encode(map[string]any{"components": now}))
			before = now
		}
	}
}

// list names the components of a module that have not failed, and of the modules inside it. Alloy
// calls those of a restored configuration unknown, because it did not have to start them again.
func list(host service.Host, module string) []string {
	found := []string{}
	components, err := host.ListComponents(module, component.InfoOptions{GetHealth: true})
	if err != nil {
		return found
	}
	for _, each := range components {
		health := each.Health.Health
		if health == component.HealthTypeHealthy || health == component.HealthTypeUnknown {
			found = append(found, each.ID.String())
		}
		for _, inner := range each.ModuleIDs {
			found = append(found, list(host, inner)...)
		}
	}
	return found
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
