#!/bin/sh
# The first process of a virtual node; lab.sh starts it as init of a User Mode Linux kernel whose root is the host's
# own, read-only. Stage 1 lays the lab's packages and a memory disk over that; stage 2 makes it an NFS server (node 0)
# or a client. Kernel parameters: lab.node, lab.kit, lab.dir, lab.agent, lab.self (paths on the host), lab.grace (s).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

if [ "${1:-}" != stage2 ]; then
  mount -t proc proc /proc
  for word in $(cat /proc/cmdline); do
    case $word in lab.*=*) name=${word%%=*}; eval "${name#lab.}=\${word#*=}" ;; esac
  done
  "$kit/usr/sbin/insmod" "$kit/usr/lib/modules/$(uname -r)/kernel/fs/overlayfs/overlay.ko"
  mount -t tmpfs -o size=128m tmpfs /mnt
  mkdir /mnt/upper /mnt/work /mnt/root /mnt/kit
  mount -t hostfs -o "$kit" none /mnt/kit # a mount of its own: layers may not lie within each other
  mount -t overlay -o "lowerdir=/mnt/kit:/,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root || exec echo "no overlay"
  cd /mnt/root && mkdir -p host && mount -t hostfs -o / none host
  export node dir grace agent
  pivot_root . mnt && exec chroot . /bin/sh "/host$self" stage2 </dev/console >/dev/console 2>&1
fi

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for place in /dev/shm /run /tmp /var/tmp; do mount -t tmpfs -o mode=1777 tmpfs $place; done
echo "node$node" >/proc/sys/kernel/hostname
printf '%s\n' '127.0.0.1 localhost' '10.99.0.10 node0' '10.99.0.11 node1' '10.99.0.12 node2' '10.99.0.13 node3' >/etc/hosts
echo 'hosts: files' >/etc/nsswitch.conf
grep -q ^_rpc: /etc/passwd || echo '_rpc:x:111:65534::/run/rpcbind:/usr/sbin/nologin' >>/etc/passwd
grep -q ^statd: /etc/passwd || echo 'statd:x:112:65534::/var/lib/nfs:/usr/sbin/nologin' >>/etc/passwd

ip link set lo up
ip addr add "10.99.0.1$node/24" dev "$(ls /sys/class/net | grep -m1 -E '^(vec|eth)')"
ip link set "$(ls /sys/class/net | grep -m1 -E '^(vec|eth)')" up
"/host$agent" serve 7700 &

# What must survive a power cut: who held locks (version 3) and who was a client (version 4).
state=/host$dir/state$node
if [ "$node" = 0 ]; then
  mkdir -p /export && mount /dev/ubda /export
  state=/export/.state
  [ -d $state ] || first_boot=1
fi
mkdir -p "$state/sm" "$state/sm.bak" "$state/rpc_pipefs" "$state/nfsdcld" "$state/v4recovery" /var/lib/nfs
mount --bind "$state" /var/lib/nfs
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mkdir -p /run/rpcbind /run/sendsigs.omit.d
# The first lock waits for lockd's grace period, which is a multiple of nlm_timeout: 3 s is the least.
modprobe lockd nlm_timeout=3 "nlm_grace_period=$([ "$node" = 0 ] && echo "$grace" || echo 0)"
modprobe sunrpc
mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
rpcbind -w
rpc.statd --port 4000
if [ "$node" = 0 ]; then
  mkdir -p /export/shared && chmod 1777 /export/shared
  echo '/export/shared *(rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0)' >/etc/exports
  modprobe nfsd
  mount -t nfsd nfsd /proc/fs/nfsd
  nfsdcld
  exportfs -ra
  echo "$grace" >/proc/fs/nfsd/nfsv4leasetime
  echo "$grace" >/proc/fs/nfsd/nfsv4gracetime
  rpc.nfsd -V 3 -V 4.2 8
  rpc.mountd -p 4002
  # Nobody has anything to reclaim then.
  [ -z "${first_boot:-}" ] || echo Y >/proc/fs/nfsd/v4_end_grace
else
  modprobe nfsv3
  modprobe nfsv4
fi
sm-notify
: >/run/ready
echo "node$node is ready"
while :; do sleep 1000 & wait; done
