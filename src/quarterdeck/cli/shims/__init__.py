"""Programs under the names of others: what `quarterdeck envtest` puts into a folder."""
