#!/usr/bin/env bash
# Builds TOOLS/vm/machine.qcow2: a disk that boots by itself, for tests of local VMs.
# Contents: Debian's cloud kernel, a small initial RAM disk (tools/vm_image), SYSLINUX. Needs no root.
# Does nothing if the image is newer than its sources, or if a program for it is missing.
set -euo pipefail
tools=$(realpath -m "$1")
sources=$(realpath "$(dirname "$0")")/vm_image
image=$tools/vm/machine.qcow2
export PATH=$PATH:/usr/sbin:/sbin

if [ -f "$image" ] && [ -z "$(find "$sources" -type f -newer "$image")" ]; then
    exit 0
fi
missing=()
for program in apt-get apt-cache dpkg-deb qemu-img busybox syslinux mcopy mkfs.vfat python3; do
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
python3 "$sources/initramfs.py" tree "$(command -v busybox)" initrd.gz
truncate -s 48M disk
mkfs.vfat -n BOOT disk >/dev/null
mcopy -i disk tree/boot/vmlinuz-* ::vmlinuz
mcopy -i disk initrd.gz ::initrd.gz
mcopy -i disk "$sources/syslinux.cfg" ::syslinux.cfg
syslinux --install disk
mkdir -p "$tools/vm"
qemu-img convert -f raw -O qcow2 disk "$image.new"
mv "$image.new" "$image"
