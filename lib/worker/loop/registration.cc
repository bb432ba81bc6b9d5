#include "lib/worker/loop/registration.h"

#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/gang.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/transactions/membership.h"
#include "lib/store/disk/filesystem.h"
#include "lib/worker/bell/addresses.h"
#include "lib/worker/jobs/job_command.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// The signal that told it to end; 0: none.
Result<int> wait_until(BootTime until, const Clock& clock, exec::ProcessHost& host, int signal_fd) {
  while (clock.boot_now() < until) {
    TORC_ASSIGN(const exec::ProcessHost::Wakeup wakeup, host.wait(until));
    if (wakeup.readable.empty()) continue;
    signalfd_siginfo info{};
    while (read(signal_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != SIGUSR1) return static_cast<int>(info.ssi_signo);
    }
  }
  return 0;
}

claim::WorkerInfo describe(const workflow::Context& context, const WorkerSetup& setup,
                           const exec::ProcessIdentity& process, const store::Store& store) {
  claim::WorkerInfo info;
  info.host = setup.machine.host;
  info.pid = process.pid;
  info.pid_start = process.start;
  info.boot_id = exec::boot_id();
  info.pid_namespace = exec::pid_namespace();
  info.above = exec::ancestors_of(process);
  info.user = exec::this_user();
  info.allocation = setup.allocation;
  info.cluster = setup.cluster;
  info.allocation_start = setup.allocation_start;
  info.node = setup.slurm_node;
  info.node_timeout = setup.slurm.node_timeout;
  info.group = setup.group;
  info.node_name = setup.node_name;
  info.ledger_entry = setup.ledger_entry;
  info.scheduler = setup.scheduler;
  info.labels = setup.labels;
  info.also_unlabelled = setup.also_unlabelled;
  info.any_binding = setup.any_scheduler;
  info.ignores_resources = setup.max_parallel_jobs.has_value();
  // Within the store it is left out, so that a store that was moved keeps its output.
  if (setup.output_dir != default_output_dir(store.directory()))
    info.output_dir = setup.output_dir.string();
  info.cpus = setup.machine.cpus;
  info.gpus = static_cast<std::uint32_t>(setup.machine.gpus.size());
  info.memory = setup.machine.memory;
  info.more.named = exec::named_of(setup.machine);
  info.registered_at = context.clock.wall_now();
  info.ends_at = setup.ends_at.value_or(WallTime{});
  const bool is_told = !setup.allocation.empty() && setup.ends_at && !setup.end_is_assumed;
  info.end_is_told = is_told || setup.is_of_launcher;
  info.lease_ttl = setup.lease_ttl;
  info.lease_heartbeat = setup.lease_heartbeat;
  return info;
}

// Of a group that is an allocation Slurm gives the names.
Result<std::optional<claim::Worker>> namesake_of(const claim::Reader& reader,
                                                 const claim::WorkerInfo& info) {
  std::optional<claim::Worker> found;
  if (info.group.empty() || info.group.starts_with(claim::kAllocationGroup)) return found;
  TORC_TRY(claim::scan_workers(reader, true, [&](const claim::Worker& w) {
    if (w.info.group == info.group && w.info.node_name == info.node_name) found = w;
    return !found;
  }));
  return found;
}

}  // namespace

double roll(Entropy& entropy) {
  return static_cast<double>(entropy.next() >> 11) * 0x1p-53;
}

claim::Sharing sharing_of(const store::Store& store) {
  struct statfs about {};
  if (store.identity().engine != store::Engine::journal) return claim::Sharing::local;
  if (statfs(store.directory().c_str(), &about) != 0) return claim::Sharing::shared;
  const auto type = store::filesystem_type(static_cast<std::uint64_t>(about.f_type));
  return type.sharing == store::Sharing::shared ? claim::Sharing::shared : claim::Sharing::local;
}

Result<int> wait_for_turn(const workflow::Context& context, const WorkerSetup& setup,
                          exec::ProcessHost& host, int signal_fd, store::Store& store) {
  const claim::Sharing sharing = sharing_of(store);
  if (sharing == claim::Sharing::local) return 0;
  Entropy& entropy = context.world2.entropy;
  claim::RegistrationDelay registration_delay(sharing, setup.starters);
  for (nanoseconds wait = registration_delay.delay(roll(entropy));;) {
    TORC_ASSIGN(const int told_to_end,
                wait_until(context.clock.boot_now() + wait, context.clock, host, signal_fd));
    if (told_to_end != 0) return told_to_end;
    claim::WorkflowLoad load;
    std::uint64_t newest = 0;
    TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
      newest = reader.sequence();
      TORC_ASSIGN(load, claim::read_load(reader));
      return {};
    }));
    wait = registration_delay.wait(context.clock.boot_now(), newest, load.workers, roll(entropy));
    if (wait == 0ns) return 0;
  }
}

std::unique_ptr<UdpBell> open_bell(const WorkerSetup& setup, const store::Store& store,
                                   Entropy& entropy,
                                   const std::function<void(const std::string&)>& notice) {
  // Where all workers are on this host they hear of each other's commits anyway.
  if (!setup.bell || store.identity().engine != store::Engine::journal) return nullptr;
  const bool expected = !setup.any_scheduler || !setup.bell_interface.empty();
  auto opened = UdpBell::open(setup.bell_interface, entropy);
  if (!opened) {
    if (expected)
      notice("looks for work now and then, since it has no bell: " + opened.error().text());
    return nullptr;
  }
  std::unique_ptr<UdpBell> bell = *std::move(opened);
  // Where this host has nothing but loopback there are no others.
  const bool is_alone = setup.bell_interface.empty() && !has_other_than_loopback();
  if (expected && !is_alone && std::ranges::all_of(bell->place().addresses, is_loopback)) {
    notice(
        "workers on other hosts cannot ring it: its bell is on a loopback address alone; name "
        "an interface or an address with --bell-interface");
  }
  return bell;
}

std::string show_namesake(const claim::Worker& other) {
  const claim::WorkerInfo& i = other.info;
  return fmt::format(
      "worker {} on {} (process {}) is called node {} in group {}, too: a job of several nodes has "
      "one of the two, so where they are to count as two nodes give each its own --node-name",
      claim::raw(other.epoch), printable(i.host), i.pid, printable(i.node_name),
      printable(i.group));
}

Result<Registration> register_self(const workflow::Context& context, const WorkerSetup& setup,
                                   const exec::ProcessIdentity& process,
                                   const std::optional<claim::BellPlace>& bell,
                                   store::Store& store) {
  Registration r;
  r.info = describe(context, setup, process, store);
  r.info.bell = bell;
  std::string settings;
  r.at = context.clock.boot_now();
  TORC_TRY(store.commit(0, [&](claim::Transaction& tx) -> Result<void> {
    claim::WorkerInfo& info = r.info;
    std::optional<claim::Worker> before;
    if (setup.staggered_start) {
      TORC_ASSIGN(before, claim::newest_worker(tx));
    }
    info.claims_from =
        before ? claim::turn_to_claim(before->info.claims_from, info.registered_at, setup.starters)
               : info.registered_at;
    TORC_ASSIGN(r.namesake, namesake_of(tx, info));
    TORC_ASSIGN(r.self, claim::register_worker(tx, info));
    info.own_heartbeat_file = claim::heartbeat_place(tx, r.self).file == store::HeartbeatFile::own;
    TORC_ASSIGN(r.load, claim::read_load(tx));
    TORC_ASSIGN(r.workflow, claim::read_workflow(tx));
    settings = std::exchange(r.workflow.settings, {});
    if (r.workflow.actions.actions > 0) {
      TORC_ASSIGN(r.actions, claim::read_actions(tx));
    }
    return {};
  }));
  TORC_ASSIGN(r.settings, workflow::decode_workflow_settings(settings));
  return r;
}

}  // namespace torc::worker
