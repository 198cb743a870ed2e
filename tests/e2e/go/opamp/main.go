// Connects to an OpAMP server with the published client, applies what it is offered, and prints each
// configuration as a line of JSON. Ends when standard input ends.
package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/open-telemetry/opamp-go/client"
	"github.com/open-telemetry/opamp-go/client/types"
	"github.com/open-telemetry/opamp-go/protobufs"
)

func text(key, value string) *protobufs.KeyValue {
	return &protobufs.KeyValue{Key: key, Value: &protobufs.AnyValue{
		Value: &protobufs.AnyValue_StringValue{StringValue: value},
	}}
}

func main() {
	url, token := os.Args[1], os.Args[2]
	var agent client.OpAMPClient
	if strings.HasPrefix(url, "ws") {
		agent = client.NewWebSocket(nil)
	} else {
		polling := client.NewHTTP(nil)
		polling.SetPollingInterval(200 * time.Millisecond)
		agent = polling
	}
	check(agent.SetAgentDescription(&protobufs.AgentDescription{
		IdentifyingAttributes:    []*protobufs.KeyValue{text("service.name", "otelcol")},
		NonIdentifyingAttributes: []*protobufs.KeyValue{text("env", "prod"), text("os.type", "linux")},
	}))
	capabilities := protobufs.AgentCapabilities_AgentCapabilities_ReportsStatus |
		protobufs.AgentCapabilities_AgentCapabilities_AcceptsRemoteConfig |
		protobufs.AgentCapabilities_AgentCapabilities_ReportsRemoteConfig
	if err := agent.SetCapabilities(&capabilities); err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	settings := types.StartSettings{
		OpAMPServerURL: url,
		Header:         http.Header{"Authorization": []string{"Bearer " + token}},
		InstanceUid:    types.InstanceUid{0, 1, 2, 3, 4, 5, 0x70, 7, 0x80, 9, 10, 11, 12, 13, 14, 15},
		Callbacks: types.Callbacks{
			OnConnectFailed: func(ctx context.Context, err error) { out.Encode(map[string]any{"error": err.Error()}) },
			OnMessage: func(ctx context.Context, message *types.MessageData) {
				if message.RemoteConfig == nil {
					return
				}
				body := message.RemoteConfig.Config.ConfigMap["fleet.yaml"].Body
				status := protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED
				problem := ""
				if strings.Contains(string(body), "bad") {
					status = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_FAILED
					problem = "cannot load it"
				}
				agent.SetRemoteConfigStatus(&protobufs.RemoteConfigStatus{
					LastRemoteConfigHash: message.RemoteConfig.ConfigHash,
					Status:               status,
					ErrorMessage:         problem,
				})
				out.Encode(map[string]any{"body": string(body)})
			},
		},
	}
	check(agent.Start(context.Background(), settings))
	io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	check(agent.Stop(ctx))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
