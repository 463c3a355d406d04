#!/usr/bin/env bash
# Builds the control plane of Kubernetes that some tests talk to: the API server, the controllers and kubectl. Go fetches the
# sources of scripts/kubernetes/go.mod through its proxy. Takes about ten minutes, once: the programs stay in the user's cache.
set -euo pipefail
cd "$(dirname "$0")/kubernetes"

programs=(kube-apiserver kube-controller-manager kubectl)
version=$(sed -n 's|^require k8s.io/kubernetes v||p' go.mod)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/fairlead/kubernetes-$version

has_programs() {
  for program in "${programs[@]}"; do
    [ -x "$1/$program" ] || return 1
  done
}
# By convention that variable names a folder with such programs; test/support/kubernetes-programs.ts looks there, too.
if [ -n "${KUBEBUILDER_ASSETS:-}" ] && has_programs "$KUBEBUILDER_ASSETS"; then exit 0; fi
if has_programs "$folder"; then exit 0; fi
if ! command -v go >/dev/null; then
  echo "Tests that need Kubernetes are skipped: Go, which builds it, is not installed."
  exit 0
fi

echo "Building Kubernetes $version for the tests into $folder, once; this takes about ten minutes."
mkdir -p "$(dirname "$folder")"
fresh=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
packages=()
for program in "${programs[@]}"; do packages+=("k8s.io/kubernetes/cmd/$program"); done
flags='-s -w'
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=" -X $package.gitVersion=v$version -X $package.gitTreeState=clean"
  flags+=" -X $package.gitMajor=$(cut -d. -f1 <<<"$version") -X $package.gitMinor=$(cut -d. -f2 <<<"$version")"
done
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off
go build -trimpath -ldflags "$flags" -o "$fresh/" "${packages[@]}"
chmod 755 "$fresh"

# Another run may have been faster. What lacks a program is replaced.
if has_programs "$folder"; then exit 0; fi
rm -rf "$folder"
mv -T "$fresh" "$folder"
