// Registers a collector and asks for its configuration twice, as Alloy does: protobuf, GetConfig by
// HTTP GET. Prints what it got as JSON.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"

	"connectrpc.com/connect"
	collectorv1 "github.com/grafana/alloy-remote-config/api/gen/proto/go/collector/v1"
	"github.com/grafana/alloy-remote-config/api/gen/proto/go/collector/v1/collectorv1connect"
)

type authorized struct{ header string }

func (a authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", a.header)
	return http.DefaultTransport.RoundTrip(request)
}

func main() {
	url, token := os.Args[1], os.Args[2]
	pair := base64.StdEncoding.EncodeToString([]byte("12345:" + token))
	web := &http.Client{Transport: authorized{"Basic " + pair}}
	client := collectorv1connect.NewCollectorServiceClient(web, url, connect.WithHTTPGet())
	ctx := context.Background()
	attributes := map[string]string{"env": "prod", "collector.os": "linux"}

	_, err := client.RegisterCollector(ctx, connect.NewRequest(&collectorv1.RegisterCollectorRequest{
		Id: "edge-1", Name: "edge", LocalAttributes: attributes,
	}))
	check(err)
	first, err := client.GetConfig(ctx, connect.NewRequest(&collectorv1.GetConfigRequest{
		Id: "edge-1", LocalAttributes: attributes,
	}))
	check(err)
	second, err := client.GetConfig(ctx, connect.NewRequest(&collectorv1.GetConfigRequest{
		Id: "edge-1", LocalAttributes: attributes, Hash: first.Msg.Hash,
		RemoteConfigStatus: &collectorv1.RemoteConfigStatus{
			Status: collectorv1.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED,
		},
	}))
	check(err)
	_, err = client.UnregisterCollector(ctx, connect.NewRequest(
		&collectorv1.UnregisterCollectorRequest{Id: "edge-1"},
	))
	check(err)
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"content": first.Msg.Content, "hash": first.Msg.Hash,
		"sameHash": second.Msg.Hash, "notModified": second.Msg.NotModified,
	})
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
