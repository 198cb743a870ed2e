module alloysyntax

go 1.23

require github.com/grafana/alloy/syntax v0.1.1
