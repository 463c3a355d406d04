#!/usr/bin/env bash
# Installs the Debian packages that some tests talk to: a directory, Redis, PostgreSQL, MariaDB, a browser, nginx, etcd, sshd, buildah, Podman, Docker, Prometheus, systemd and bubblewrap. Installs
# only what is missing, starts no service, and asks nothing. Anywhere but on Debian with root it says what will be skipped instead.
# With --missing it only prints the packages that are missing, a line each.
set -euo pipefail

# Each package and the program that it brings; test/support/debian.ts looks for the same programs.
packages=(slapd:slapd ldap-utils:ldapadd redis-server:redis-server postgresql:pg_ctlcluster mariadb-server:mariadbd chromium-headless-shell:chromium-headless-shell nginx-light:nginx etcd-server:etcd openssh-server:sshd buildah:buildah podman:podman runc:runc slirp4netns:slirp4netns docker.io:dockerd iproute2:ip busybox-static:busybox prometheus:prometheus systemd:systemd-notify python3:python3 bubblewrap:bwrap)
PATH=$PATH:/usr/sbin:/sbin

missing=()
for entry in "${packages[@]}"; do
  command -v "${entry#*:}" >/dev/null || missing+=("${entry%%:*}")
done
if [ "${1:-}" = --missing ]; then
  [ ${#missing[@]} -eq 0 ] || printf '%s\n' "${missing[@]}"
  exit 0
fi
if [ ${#missing[@]} -eq 0 ]; then
  echo 'Packages: all are installed.'
  exit 0
fi

if [ ! -e /etc/debian_version ]; then
  echo "Packages: this is not Debian, so tests are skipped unless you install the programs of these: ${missing[*]}"
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Packages: only root can install them. Until then, tests that need them are skipped. As root: apt-get install --no-install-recommends ${missing[*]}"
  exit 0
fi

echo "Packages: installing from Debian, as root, starting no service; takes some two minutes: ${missing[*]}"
# A policy of 101 keeps package scripts from starting what they install.
if [ ! -e /usr/sbin/policy-rc.d ]; then
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod +x /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
wait_for_lock=(-o DPkg::Lock::Timeout=300)
if [[ " ${missing[*]} " == *' slapd '* ]]; then
  echo 'slapd slapd/no_configuration boolean true' | debconf-set-selections
fi
apt-get -qq "${wait_for_lock[@]}" update
apt-get -qq "${wait_for_lock[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null
