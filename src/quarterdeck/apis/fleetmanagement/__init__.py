"""`fleetmanagement.grafana.com`: configuration pipelines for fleets of telemetry collectors."""
