#!/usr/bin/env bash
# Builds disks that boot by themselves, for tests of local VMs: TOOLS/vm/machine.qcow2, and
# attested.qcow2, which has the machine agent with its Python, openssl and tpm2-tools besides.
# Contents: Debian's cloud kernel, a small initial RAM disk (tools/vm_image), SYSLINUX. Needs no root.
# Does nothing if the images are newer than their sources, or if a program for them is missing.
set -euo pipefail
tools=$(realpath -m "$1")
sources=$(realpath "$(dirname "$0")")/vm_image
package=$(realpath "$(dirname "$0")/../src")
image=$tools/vm/attested.qcow2 # the last one to be built
export PATH=$PATH:/usr/sbin:/sbin

if [ -f "$image" ] && [ -z "$(find "$sources" "$package/quarterdeck/agents/machine" -name '*.pyc' -prune -o -type f -newer "$image" -print)" ]; then
    exit 0
fi
missing=()
for program in apt-get apt-cache dpkg-deb qemu-img busybox syslinux mcopy mkfs.vfat /usr/bin/python3 openssl tpm2; do
    command -v "$program" >/dev/null || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ] || [ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ]; then
    echo "tools: no bootable test image, tests that need it are skipped; missing: ${missing[*]:-amd64}" >&2
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')
touch download.log
echo "building a bootable image from $kernel"
if [ -z "$kernel" ] || ! apt-get download -qq "$kernel" 2>download.log; then
    echo "tools: no bootable test image: cannot download the package ${kernel:-linux-image-cloud-amd64}" >&2
    sed 's/^/       /' download.log >&2 || true
    exit 0
fi
dpkg-deb -x "$kernel"_*.deb tree

build() { # NAME [FOLDER]: a disk whose initial RAM disk has the files of FOLDER as well
    rm -f disk initrd.gz
    /usr/bin/python3 "$sources/initramfs.py" tree "$(command -v busybox)" initrd.gz "${@:2}"
    truncate -s 64M disk
    mkfs.vfat -n BOOT disk >/dev/null
    mcopy -i disk tree/boot/vmlinuz-* ::vmlinuz
    mcopy -i disk initrd.gz ::initrd.gz
    mcopy -i disk "$sources/syslinux.cfg" ::syslinux.cfg
    syslinux --install disk
    qemu-img convert -f raw -O qcow2 disk "$tools/vm/$1.new"
    mv "$tools/vm/$1.new" "$tools/vm/$1"
}

mkdir -p "$tools/vm"
/usr/bin/python3 -I -S -B "$sources/agent_files.py" "$package" agent
build machine.qcow2
build attested.qcow2 agent
