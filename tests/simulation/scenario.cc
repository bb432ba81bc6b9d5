#include "tests/simulation/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/clock.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;
using What = Fault::What;

const char* name_of(What what) {
  switch (what) {
    case What::stall:
      return "the filesystem answers nobody";
    case What::partition:
      return "the filesystem does not answer node";
    case What::freeze:
      return "stands still: node";
    case What::suspend:
      return "is suspended, and its clock with it: node";
    case What::node_death:
      return "dies: node";
    case What::worker_kill:
      return "SIGKILL to worker";
    case What::worker_stop:
      return "SIGSTOP to worker";
    case What::worker_term:
      return "SIGTERM to worker";
    case What::allocation_kill:
      return "Slurm ends everything on node";
    case What::lost_replies:
      return "replies of the filesystem are lost for node";
    case What::full_disk:
      return "the disk is full";
    case What::clock_jump:
      return "the wall clock jumps on node";
    case What::cancel:
      return "somebody cancels job";
    case What::ledger_loss:
      return "the ledger is deleted on node";
    case What::dead_mount:
      return "files of jobs do not answer on node";
    case What::node_lost:
      return "reaches neither the filesystem nor Slurm: node";
    case What::requeue:
      return "Slurm requeues what runs on node";
    case What::end_moved:
      return "somebody moves the end of what runs on node";
  }
  return "?";
}

std::string show(const ActionPlan& a) {
  return fmt::format("{} ({} command(s) of {:.1f} s{})", claim::to_string(a.trigger), a.commands,
                     a.seconds, a.fails ? ", the last one fails" : "");
}

// What workers of one node share, recovery scripts, actions.
template <class Pick, class Part>
void add_what_is_rarer(Scenario& s, const Pick& pick, const Part& part) {
  if (s.workers_per_node > 1 && pick(2) == 0) {
    const auto all = s.cpus * static_cast<std::uint32_t>(s.workers_per_node);
    s.node_cpus = s.cpus + static_cast<std::uint32_t>(pick(1 + all - s.cpus));
    s.wide = pick(2) == 0 ? static_cast<int>(pick(300)) : 0;
    s.large = pick(2) == 0 ? static_cast<int>(pick(300)) : 0;
  }
  if (pick(3) == 0) {
    s.recovered = 10 + static_cast<int>(pick(290));
    s.good_scripts = pick(2) == 0 ? 100 : static_cast<int>(pick(101));
    s.script_seconds = pick(2) == 0 ? 0.1 : 40 * part();
  }
  if (pick(3) == 0) {
    const auto actions = 1 + pick(4);
    for (std::uint64_t i = 0; i < actions; ++i) {
      ActionPlan a;
      a.trigger = static_cast<claim::Trigger>(pick(claim::kTriggers));
      a.commands = 1 + static_cast<int>(pick(3));
      a.seconds = pick(2) == 0 ? 0.2 : 30 * part();
      a.fails = pick(6) == 0;
      s.actions.push_back(a);
    }
  }
  if (s.in_slurm && pick(2) == 0) s.starters = s.nodes * s.workers_per_node;
}

template <class Pick, class Part>
void add_faults_of_slurm(Scenario& s, const Pick& pick, const Part& part, double busy) {
  s.slurmd_timeout = std::chrono::seconds(pick(2) == 0 ? 6 + pick(30) : 60 + pick(240));
  if (pick(2) == 0) return;
  for (auto left = 1 + pick(2); left > 0; --left) {
    Fault f;
    f.what = static_cast<What>(kFaults + pick(kSlurmFaults));
    f.target = static_cast<int>(pick(static_cast<std::uint64_t>(s.nodes)));
    f.from = of_seconds(busy * part());
    if (f.what == What::node_lost)
      f.until = f.from + of_seconds(static_cast<double>(s.lease.count()) * 2 * part());
    // The new end.
    if (f.what == What::end_moved) f.until = f.from + of_seconds(pick(2) == 0 ? 60 : 900 * part());
    s.faults.push_back(f);
  }
}

// A job of several nodes needs as many of one group, all of them at the same time.
template <class Pick>
void add_gangs(Scenario& s, const Pick& pick) {
  if (pick(3) != 0 || s.node_cpus > 0 || s.chains > 0) return;
  s.gangs = pick(3) == 0 ? 100 + static_cast<int>(pick(200)) : 5 + static_cast<int>(pick(60));
  s.groups = 1 + static_cast<int>(pick(2));
  const int least = s.nodes / s.groups * s.workers_per_node;  // workers of a group
  if (least < 2) s.groups = 1;
  const int most = std::min(8, s.nodes / s.groups * s.workers_per_node);
  s.gang_nodes = 2 + static_cast<std::uint32_t>(pick(static_cast<std::uint64_t>(most - 1)));
  s.on_each_node = pick(3) == 0 ? 0 : static_cast<int>(pick(101));
  s.declared = pick(2) == 0;
}

// The workflow of a file has none of what files here do not say.
template <class Pick, class Part>
void add_edits(Scenario& s, const Pick& pick, const Part& part, double busy) {
  s.edited = true;
  s.failing = s.crashing = s.recovered = s.wide = s.large = s.gangs = 0;
  s.node_cpus = s.licences = 0;
  s.chained = s.declared = false;
  s.groups = 1;
  s.actions.clear();
  for (auto left = 1 + pick(6); left > 0; --left) {
    constexpr Edit::What kOften[] = {Edit::What::apply,   Edit::What::apply,  Edit::What::apply,
                                     Edit::What::go_back, Edit::What::remove, Edit::What::put_back};
    const Edit::What what = kOften[pick(std::size(kOften))];
    s.edits.push_back({what, of_seconds(0.8 * busy * part()), pick(UINT64_MAX)});
  }
  std::ranges::sort(s.edits, {}, &Edit::at);
}

}  // namespace

Time of_seconds(double s) {
  return Time(static_cast<std::int64_t>(s * 1e9));
}

std::string show(Time time) {
  return fmt::format("{:9.3f} s", std::chrono::duration<double>(time).count());
}

std::string show(Edit::What what) {
  switch (what) {
    case Edit::What::apply:
      return "applies another file";
    case Edit::What::go_back:
      return "applies an earlier file";
    case Edit::What::remove:
      return "removes jobs";
    case Edit::What::put_back:
      return "puts jobs back";
    case Edit::What::again:
      return "applies the file again";
  }
  return "?";
}

std::string show(const Fault& f) {
  const bool of_all = f.what == What::stall || f.what == What::full_disk;
  std::string text = fmt::format("from {}: {}", show(f.from), name_of(f.what));
  if (!of_all) text += fmt::format(" {}", f.target);
  if (f.until > f.from) text += fmt::format(", until {}", show(f.until));
  return text;
}

std::string show(const Scenario& s) {
  std::string text = fmt::format(
      "seed {}: {} node(s) with {} worker(s) of {} CPUs each, {} job(s) of {:.1f} s{}{}, {} of "
      "1000 "
      "fail once, {} kill their worker, leases of {} s\n",
      s.seed, s.nodes, s.workers_per_node, s.cpus, s.jobs, s.job_seconds,
      s.chained ? ", the second half after the first" : "",
      s.in_slurm
          ? fmt::format(", in Slurm, which drops a node after {} s", s.slurmd_timeout.count())
          : "",
      s.failing, s.crashing, s.lease.count());
  if (s.starters > 1) text += fmt::format("  {} workers start together\n", s.starters);
  if (s.workers_idle.count() > 0)
    text +=
        fmt::format("  workers leave when all have had nothing for {} s\n", s.workers_idle.count());
  if (s.node_cpus > 0)
    text += fmt::format(
        "  the workers of a node share {} CPUs, and as many units of memory; of 1000 jobs {} need "
        "two CPUs, {} two units\n",
        s.node_cpus, s.wide, s.large);
  if (s.licences > 0) text += fmt::format("  all jobs share {} licences\n", s.licences);
  if (s.recovered > 0)
    text += fmt::format(
        "  {} of 1000 fail once and have a recovery script of {:.1f} s, which succeeds for {} of "
        "100\n",
        s.recovered, s.script_seconds, s.good_scripts);
  if (s.gangs > 0)
    text += fmt::format(
        "  {} of 1000 need up to {} nodes, {} of 100 of these run on each; the workers are of {} "
        "group(s){}\n",
        s.gangs, s.gang_nodes, s.on_each_node, s.groups,
        s.declared ? ", and jobs say how long they run" : "");
  for (const ActionPlan& a : s.actions) text += "  " + show(a) + "\n";
  if (s.edited) text += "  its jobs are those of a file that somebody edits\n";
  for (const Edit& e : s.edits)
    text += fmt::format("  from {}: somebody {}\n", show(e.at), show(e.what));
  for (const Fault& f : s.faults) text += "  " + show(f) + "\n";
  return text;
}

Scenario scenario_of(std::uint64_t seed, Edits edits) {
  SeededEntropy random(seed * 0x9E3779B97F4A7C15ULL + 1);
  const auto pick = [&](std::uint64_t below) { return random.next() % below; };
  const auto part = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  Scenario s;
  s.seed = seed;
  // Mostly few: what goes wrong among many mostly goes wrong among few, and sooner.
  const int workers =
      pick(8) == 0 ? 16 + static_cast<int>(pick(49)) : 4 + static_cast<int>(pick(9));
  s.workers_per_node = 1 + static_cast<int>(pick(3));
  s.nodes = std::max(2, workers / s.workers_per_node);
  s.cpus = 1 + static_cast<std::uint32_t>(pick(4));
  s.job_seconds = pick(3) == 0 ? 60 * part() + 1 : 8 * part() + 0.2;
  if (pick(8) == 0) s.job_seconds = 0.1 * part() + 0.01;  // so short that they go to the lane
  s.chained = pick(3) == 0;
  s.in_slurm = pick(2) == 0;
  s.failing = pick(3) == 0 ? static_cast<int>(pick(100)) : 0;
  s.crashing = pick(6) == 0 ? 1 + static_cast<int>(pick(2)) : 0;
  s.lease = std::chrono::seconds(20 + pick(60));
  add_what_is_rarer(s, pick, part);
  const double slots = s.nodes * s.workers_per_node * s.cpus;
  const double work = static_cast<double>(s.jobs) * s.job_seconds / slots;
  const double busy = std::clamp(work, 20.0, 600.0);
  const auto faults = pick(10) == 0 ? 0 : 1 + pick(6);
  const double lease = static_cast<double>(s.lease.count());
  for (std::uint64_t i = 0; i < faults; ++i) {
    Fault f;
    f.what = static_cast<What>(pick(kFaults));
    f.target = static_cast<int>(pick(static_cast<std::uint64_t>(s.nodes)));
    if (f.what == What::worker_kill || f.what == What::worker_stop || f.what == What::worker_term)
      f.target = static_cast<int>(pick(static_cast<std::uint64_t>(s.nodes) *
                                       static_cast<std::uint64_t>(s.workers_per_node)));
    if (f.what == What::cancel) f.target = static_cast<int>(1 + pick(s.jobs));
    f.from = of_seconds(busy * part());
    const bool lasts = f.what != What::node_death && f.what != What::worker_kill &&
                       f.what != What::worker_term && f.what != What::cancel &&
                       f.what != What::allocation_kill && f.what != What::ledger_loss;
    // Around the lengths at which a lease is paused, fenced, expired.
    if (lasts) f.until = f.from + of_seconds(lease * (pick(4) == 0 ? 6 * part() : 1.8 * part()));
    s.faults.push_back(f);
  }
  if (s.in_slurm) add_faults_of_slurm(s, pick, part, busy);
  std::sort(s.faults.begin(), s.faults.end(),
            [](const Fault& a, const Fault& b) { return a.from < b.from; });
  // Of its own, so that all else is as it was before there were bells.
  SeededEntropy about_bells(seed * 0xD6E8FEB86659FD93ULL + 1);
  s.bells = about_bells.next() % 4 != 0;
  if (s.bells) s.bell_trouble = about_bells.next() % 2 == 0 ? 0 : 30;
  SeededEntropy about_licences(seed * 0xE7037ED1A0B428DBULL + 1);
  if (about_licences.next() % 4 == 0)
    s.licences = 2 + static_cast<std::uint32_t>(about_licences.next() % 7);
  SeededEntropy about_gangs(seed * 0xA0761D6478BD642FULL + 1);
  add_gangs(s, [&](std::uint64_t below) { return about_gangs.next() % below; });
  SeededEntropy about_idle(seed * 0x8EBC6AF09C88C6E3ULL + 1);
  if (about_idle.next() % 4 == 0)
    s.workers_idle = std::chrono::seconds(5 + static_cast<std::int64_t>(about_idle.next() % 60));
  SeededEntropy about_edits(seed * 0x9FB21C651E98DF25ULL + 1);
  if (about_edits.next() % 4 == 0 && edits == Edits::some)
    add_edits(
        s, [&](std::uint64_t below) { return about_edits.next() % below; },
        [&] { return static_cast<double>(about_edits.next() >> 11) * 0x1p-53; }, busy);
  s.calm = of_seconds(busy);
  for (const Fault& f : s.faults) s.calm = std::max(s.calm, f.until);
  s.calm += 60s;
  // One worker must be able to do all of it.
  double alone = static_cast<double>(s.jobs) * s.job_seconds / s.cpus;
  if (s.licences > 0) alone *= 4;  // two at a time, or one of two
  alone += s.recovered * 2 * s.script_seconds / s.cpus;
  for (const ActionPlan& a : s.actions) alone += 10 * a.commands * a.seconds;
  alone += static_cast<double>(s.jobs) * s.gangs / 1000 * (2 * s.job_seconds + 20);
  s.ends = s.calm + of_seconds(20 * lease + 40 * s.job_seconds + 2 * alone) + 900s +
           s.crashing * 5 * (120s + 3 * s.lease);
  // Each may have all of it run again.
  s.ends += static_cast<int>(s.edits.size()) * (of_seconds(alone) + 300s);
  return s;
}

}  // namespace torc::simulation
