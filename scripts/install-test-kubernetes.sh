#!/usr/bin/env bash
# Builds what some tests need of Kubernetes: the API server, the controllers, kubectl, and Helm; Litestream; an S3-compatible store; and
# Pebble, an ACME authority. Go fetches the sources of go.mod in scripts/kubernetes, helm and others through its proxy. Takes about fifteen minutes,
# once: the programs stay in the user's cache, where test/support/kubernetes-programs.ts looks for them.
# With --missing it only prints what is not built, a line each.
set -euo pipefail
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fairlead
only=${1:-}

# version_of MODULE FOLDER: such as 1.34.3
version_of() {
  sed -nE "s|^(require)?[[:space:]]*$1 v([^ ]+).*|\2|p" "$2/go.mod"
}

# has_programs FOLDER PROGRAM…
has_programs() {
  local folder=$1 program
  for program in "${@:2}"; do
    [ -x "$folder/$program" ] || return 1
  done
}

# build FOLDER-OF-GO.MOD TARGET FLAGS PACKAGE…: each package becomes the program of its last name.
build() {
  local module=$1 target=$2 flags=$3 fresh
  shift 3
  if has_programs "$target" "${@##*/}"; then return; fi
  if [ "$only" = --missing ]; then
    echo "$module"
    return
  fi
  if ! command -v go >/dev/null; then
    echo "Programs: Go, which builds $module, is not installed; tests that need it are skipped."
    return
  fi
  echo "Programs: building $module with Go into $target, once."
  mkdir -p "$cache"
  fresh=$(mktemp -d "$target.XXXXXX")
  # The name is local to this function, and the trap is not.
  # shellcheck disable=SC2064
  trap "rm -rf '$fresh'" EXIT
  (cd "$module" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off go build -trimpath -ldflags "-s -w $flags" -o "$fresh/" "$@")
  chmod 755 "$fresh"
  # Another run may have been faster. What lacks a program is replaced.
  if has_programs "$target" "${@##*/}"; then return; fi
  rm -rf "$target"
  mv -T "$fresh" "$target"
}

version=$(version_of k8s.io/kubernetes kubernetes)
programs=(kube-apiserver kube-controller-manager kubectl)
# By convention that variable names a folder with such programs.
if [ -z "${KUBEBUILDER_ASSETS:-}" ] || ! has_programs "$KUBEBUILDER_ASSETS" "${programs[@]}"; then
  flags=
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=v$version -X $package.gitTreeState=clean"
    flags+=" -X $package.gitMajor=$(cut -d. -f1 <<<"$version") -X $package.gitMinor=$(cut -d. -f2 <<<"$version")"
  done
  build kubernetes "$cache/kubernetes-$version" "$flags" "${programs[@]/#/k8s.io/kubernetes/cmd/}"
fi
build helm "$cache/helm-$(version_of helm.sh/helm/v3 helm)" '' helm.sh/helm/v3/cmd/helm
litestream=github.com/benbjohnson/litestream
build litestream "$cache/litestream-$(version_of $litestream litestream)" '' $litestream/cmd/litestream
build s3-store "$cache/s3-store-$(version_of github.com/rclone/gofakes3 s3-store)" '' fairlead.test/s3-store
pebble=github.com/letsencrypt/pebble/v2
build pebble "$cache/pebble-$(version_of $pebble pebble)" '' $pebble/cmd/pebble $pebble/cmd/pebble-challtestsrv
