"""The programs that `quarterdeck envtest` writes, under the names that envtest starts."""
