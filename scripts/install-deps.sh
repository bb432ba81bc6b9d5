#!/bin/bash
# Installs the Debian packages that torc is built and tested with.
#   install-deps.sh [build] [test] [bench]   install what is missing of these groups; without a name: build and test
#   install-deps.sh --check [GROUP]  only print what is missing; exit code 1 when something is
# Runs apt-get as root or through sudo; changes nothing and needs neither when all is there.
set -u
export PATH=$PATH:/usr/sbin:/sbin

build_packages=(
  g++ cmake ninja-build pkg-config make
  libfmt-dev libyaml-cpp-dev liblmdb-dev libzstd-dev libxxhash-dev libre2-dev libcli11-dev nlohmann-json3-dev libhwloc-dev
)
test_packages=(
  ccache libgtest-dev librapidcheck-dev clang-format clang-tidy-14 clang-14 libclang-rt-14-dev
  slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
  slurmdbd slurm-wlm-mysql-plugin mariadb-server-core mariadb-client-core
  gridengine-master gridengine-exec gridengine-client msmtp-mta
  util-linux mount procps iproute2 e2fsprogs spin bindfs sshfs openssh-server openmpi-bin libopenmpi-dev mpich libmpich-dev python3 python3-yaml python3-jsonschema
)
bench_packages=(parallel)
why_bench="what the benchmarks compare with, where it is there"
why_build="the compiler, the build tools and the libraries"
why_test="the compiler cache, the test libraries, the formatter, what looks for slips in C++, the compiler with a fuzzer, the model checker, a JSON Schema validator, the Slurm with its accounting, the Grid Engine, the sshfs and the MPI launchers that the integration tests start"

fail() { echo "install-deps.sh: $*" >&2; exit 1; }

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing_of() {
  local package
  for package in "$@"; do is_installed "$package" || echo "$package"; done
}

check=0
groups=()
for argument in "$@"; do
  case $argument in
    --check) check=1 ;;
    build | test | bench) groups+=("$argument") ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) fail "unknown argument '$argument'; give build, test, bench or --check" ;;
  esac
done
[ ${#groups[@]} -gt 0 ] || groups=(build test)

missing=()
for group in "${groups[@]}"; do
  list="${group}_packages[@]" why="why_$group"
  mapfile -t absent < <(missing_of "${!list}")
  [ ${#absent[@]} -eq 0 ] && continue
  echo "$group (${!why}): ${absent[*]}"
  missing+=("${absent[@]}")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "all packages of ${groups[*]} are installed"
  exit 0
fi
[ $check = 1 ] && exit 1

command -v apt-get >/dev/null ||
  fail "there is no apt-get here; install what your system calls: ${missing[*]}"
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || fail "not root and no sudo; ask root to run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@"
}
echo "installing ${#missing[@]} packages"
apt update || fail "apt-get update failed; check the network and /etc/apt/sources.list"
apt install -y --no-install-recommends "${missing[@]}" ||
  fail "apt-get install failed; run it again, or install by hand: ${missing[*]}"
