#!/usr/bin/env bash
# `npm run test:setup`: brings the programs that tests talk to and npm does not bring. From then on `npm test` runs every test it can.
set -uo pipefail
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fairlead

mkdir -p "$cache"
if [ "$(uname)" != Linux ]; then
  echo 'The programs are made for Linux: tests that need them stay skipped here.'
  touch "$cache/tests-are-set-up"
  exit 0
fi
cat <<EOF
This brings what the tests need besides npm's packages, once:
  Packages   of Debian, installed by apt-get if you are root (two minutes)
  Programs   Kubernetes, Helm, Litestream, an S3 store and Pebble, built with Go into $cache, without root
             (about fifteen minutes on two cores, less if Go has built them before)

EOF
status=0
bash install-test-packages.sh || status=1
bash install-test-kubernetes.sh || status=1
if [ $status -eq 0 ]; then
  touch "$cache/tests-are-set-up"
  echo 'Done: npm test now runs every test that this machine can run.'
else
  echo 'Not everything could be set up; the messages above say what. Mend it, then run npm run test:setup again.' >&2
fi
exit $status
