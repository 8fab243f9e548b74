#!/usr/bin/env bash
# Becomes the systemd of a root folder. To be run as the first process of namespaces of its own: see test.sh.
set -euo pipefail
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mountpoint -q "$root/sys/fs/cgroup" || mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
hostname signalbox-test
ip link set lo up
# Not chroot: no process below one may have user namespaces (PrivateUsers=).
cd "$root"
pivot_root . .
umount -l .
cd /
# As systemd has it outside of containers: LoadCredential= needs it.
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
