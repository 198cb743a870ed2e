"""The VictoriaMetrics driver of the history: samples in as Prometheus text, ranges out as JSON."""
