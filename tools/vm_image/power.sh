#!/bin/busybox sh
# Called by acpid when somebody presses the power button.
echo "machine: power button" >/dev/console
/bin/busybox poweroff -f
