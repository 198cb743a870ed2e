module remoteconfig

go 1.23

require (
	connectrpc.com/connect v1.17.0
	github.com/grafana/alloy-remote-config v0.0.12
)
