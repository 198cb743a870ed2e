module quarterdeck/tools/builtins

go 1.23
