"""`quarterdeck clusters`: connect clusters to the hub, and look at all of them."""

COMMANDS = {
    "add": "Connect a cluster of a kubeconfig to the hub",
    "join": "Print the manifest of a collector for a cluster",
    "list": "Show the clusters the hub watches, and their totals",
    "top": "Show load and capacity of every cluster",
}
