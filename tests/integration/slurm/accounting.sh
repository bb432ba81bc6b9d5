# shellcheck shell=bash disable=SC2154  # $dir and the functions are cluster.sh's, which reads this
# What cluster.sh can have besides: accounting (slurmdbd and a database of its own) and limits by task/cgroup.

check_accounting() {
  local program
  for program in slurmdbd sacct sacctmgr mariadb mariadbd mariadb-install-db; do
    command -v $program >/dev/null || cannot "$program is missing, so there is no accounting; run scripts/install-deps.sh test"
  done
}

# Nobody but who may enter $dir reaches the database: it has a socket there, and no port.
start_database() {
  local db=$dir/db
  mkdir -m 700 "$db" "$db/data" "$db/tmp"
  # Of temporary tables in /tmp another one that begins there takes away what it takes for left over.
  mariadb-install-db --no-defaults --user=root --datadir="$db/data" --tmpdir="$db/tmp" --skip-test-db \
    --auth-root-authentication-method=socket >"$dir/log/mariadb-install-db.out" 2>&1 ||
    fail "the database is not made; see $dir/log/mariadb-install-db.out"
  # What is lost with the machine is lost with the test.
  setsid mariadbd --no-defaults --user=root --datadir="$db/data" --tmpdir="$db/tmp" --socket="$db/socket" --skip-networking \
    --pid-file="$db/pid" --log-error="$dir/log/mariadbd.log" --innodb-buffer-pool-size=64M \
    --innodb-lock-wait-timeout=900 --performance-schema=OFF --innodb-flush-log-at-trx-commit=0 \
    </dev/null >/dev/null 2>&1 &
  remember mariadbd $!
  await 60 mariadb --no-defaults --socket="$db/socket" -e "SELECT 1" || fail "mariadbd does not answer; see $dir/log"
  mariadb --no-defaults --socket="$db/socket" 2>"$dir/log/mariadb.out" -e \
    "CREATE DATABASE slurm_acct_db; GRANT ALL ON slurm_acct_db.* TO slurm@localhost IDENTIFIED BY 'slurm';" ||
    fail "the database has no place for slurmdbd: $(cat "$dir/log/mariadb.out")"
}

start_slurmdbd() { # PORT
  (umask 077 && cat >"$dir/slurmdbd.conf") <<CONF
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=5
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$1
SlurmUser=root
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/db/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
CONF
  MYSQL_UNIX_PORT=$dir/db/socket setsid slurmdbd -D </dev/null >"$dir/log/slurmdbd.out" 2>&1 &
  remember slurmdbd $!
  await 60 slurmdbd_answers_or_gone || fail "slurmdbd does not answer; see $dir/log"
}
slurmdbd_answers_or_gone() { gone slurmdbd || timeout 5 sacctmgr -n show cluster; }

accounting_configuration() { # PORT
  cat <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$1
AccountingStoragePass=$dir/munge/socket
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
CONF
}

# Whether a memory limit can be set where slurmd would set it.
check_cgroups() {
  local place=/sys/fs/cgroup/memory
  [ -e "$place/memory.limit_in_bytes" ] || cannot "there is no memory controller of cgroup v1 at $place for task/cgroup"
  mkdir "$place/torc_test.$$" 2>/dev/null || cannot "this machine lets nobody make cgroups in $place"
  rmdir "$place/torc_test.$$"
}
# Each node has a part of its own below each controller.
cgroup_configuration() {
  cat >"$dir/cgroup.conf" <<CONF
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
CONF
  cat <<CONF
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
CONF
}
# Below each controller of cgroup v1 slurmd leaves slurm_NODE. With no process in it, it can go.
remove_cgroups() {
  local file node
  [ -e "$dir/cgroup.conf" ] || return 0
  for file in "$dir"/spool/n[0-9]*; do
    node=${file##*/}
    [ -d "$file" ] && find /sys/fs/cgroup -mindepth 2 -depth -type d -path "*/slurm_$node*" -exec rmdir {} + 2>/dev/null
  done
  return 0
}
