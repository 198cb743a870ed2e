module opamp

go 1.24.0

require github.com/open-telemetry/opamp-go v0.23.0
