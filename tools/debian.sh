#!/usr/bin/env bash
# Installs what tests start, from Debian's packages: Redis, VictoriaMetrics, a registry, QEMU,
# a container runtime with its network, a browser, shells.
# Does nothing for programs that are there, and nothing at all where there is no apt-get.
set -euo pipefail
declare -A packages=(
    [redis-server]=redis-server
    [victoria-metrics]=victoria-metrics
    [docker-registry]=docker-registry
    [htpasswd]=apache2-utils
    [qemu-system-x86_64]=qemu-system-x86
    [qemu-img]=qemu-utils
    [swtpm]=swtpm
    [swtpm_setup]=swtpm-tools
    [tpm2_createak]=tpm2-tools
    [xorriso]=xorriso
    [busybox]=busybox-static
    [syslinux]=syslinux
    [mcopy]=mtools
    [mkfs.vfat]=dosfstools
    [openssl]=openssl
    [zsh]=zsh
    [fish]=fish
    [containerd]=containerd
    [runc]=runc
    [/usr/lib/cni/bridge]=containernetworking-plugins
    [iptables]=iptables
    [ip]=iproute2
    [chromium]=chromium
    [/usr/bin/python3]=python3
)

missing=()
for program in "${!packages[@]}"; do
    if ! command -v "$program" >/dev/null && ! [ -x "/usr/bin/$program" ] && ! [ -x "/usr/sbin/$program" ]; then
        missing+=("${packages[$program]}")
    fi
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
sudo=$([ "$(id -u)" -eq 0 ] || command -v sudo || true)
if ! command -v apt-get >/dev/null || { [ "$(id -u)" -ne 0 ] && [ -z "$sudo" ]; }; then
    echo "tools: not installed, tests that need them are skipped: ${missing[*]}" >&2
    exit 0
fi
echo "installing ${missing[*]}"
# no package may start its server: tests start their own
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
    $sudo chmod 755 "$policy"
    trap '$sudo rm -f "$policy"' EXIT
fi
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}"
