#!/bin/busybox sh
# Called by udhcpc when it has an address.
[ "$1" = bound ] || exit 0
ip addr add "$ip/${mask:-24}" dev "$interface"
ip route add default via "$router"
echo "machine: address $ip"
