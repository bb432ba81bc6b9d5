#include "lib/report/situation.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "lib/base/codec.h"
#include "lib/base/file/beneath.h"
#include "lib/base/hash.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/plan/batch_scripts.h"
#include "lib/workflow/plan/kept_launcher.h"
#include "lib/workflow/plan/slurm_question.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {
namespace {

constexpr std::size_t kMostClasses = 256;

// What is shown of it is of this workflow.
class Ours {
 public:
  Ours(const Asking& asking, const Situation& situation) : asking_(asking), situation_(situation) {}

  [[nodiscard]] bool has(const slurm::ShownAllocation& a) const {
    if (is_recorded(a)) return true;
    const bool is_old =
        slurm::stage_of(a.state) == slurm::Stage::over && a.submitted < asking_.made_at;
    if (is_old) return false;
    if (is_script(a)) return is_a_user_s(a);
    const Path script = a.script;
    const bool is_another_store_s =
        script.parent_path().filename() == kScriptsFolder && script.extension() == ".sbatch";
    return named(a) != nullptr && a.uid == asking_.uid && !is_another_store_s;
  }

  // Called as its script is; empty: not known.
  [[nodiscard]] std::string scheduler_of(const slurm::ShownAllocation& a) const {
    if (is_script(a)) return Path(a.script).stem();
    const SubmitScript* const script = named(a);
    return script == nullptr ? std::string() : script->scheduler;
  }

 private:
  [[nodiscard]] bool is_recorded(const slurm::ShownAllocation& a) const {
    const auto is_its = [&](const claim::Worker& w) {
      return w.info.allocation == a.id && w.info.cluster == a.cluster;
    };
    return std::ranges::any_of(situation_.workers, is_its, &WorkerNow::worker) ||
           (situation_.newest && is_its(*situation_.newest));
  }
  [[nodiscard]] bool is_script(const slurm::ShownAllocation& a) const {
    const Path directory = Path(a.script).parent_path();
    return directory.filename() == kScriptsFolder &&
           std::ranges::find(asking_.store, directory.parent_path()) != asking_.store.end();
  }
  [[nodiscard]] bool is_a_user_s(const slurm::ShownAllocation& a) const {
    return !asking_.users ||
           (a.uid && std::ranges::find(*asking_.users, *a.uid) != asking_.users->end());
  }
  [[nodiscard]] const SubmitScript* named(const slurm::ShownAllocation& a) const {
    const auto found = std::ranges::find_if(situation_.scripts, [&](const SubmitScript& s) {
      return !s.job_name.empty() && s.job_name == a.name;
    });
    return found == situation_.scripts.end() ? nullptr : &*found;
  }

  const Asking& asking_;
  const Situation& situation_;
};

std::vector<std::string> names_of(const Situation& situation) {
  std::vector<std::string> names;
  for (const SubmitScript& script : situation.scripts) {
    if (!script.job_name.empty()) names.push_back(script.job_name);
  }
  return names;
}

// Those of the ledger, as they were submitted.
void add_intents(const AllocationList& ledger, std::vector<std::string>& names) {
  for (const AllocationRow& row : ledger.rows) {
    const std::uint32_t of = row.allocation.scheduler;
    if (of == 0 || of > ledger.schedulers.size()) continue;
    auto intents = claim::intent_names(ledger.schedulers[of - 1], row.number, row.allocation);
    std::ranges::move(intents, std::back_inserter(names));
  }
}

// Of workers, that `shown` does not have.
std::vector<std::string> ids_beside(const std::vector<slurm::ShownAllocation>& shown,
                                    const Situation& situation) {
  std::vector<std::string> ids;
  const auto add = [&](const claim::WorkerInfo& info) {
    const std::string& id = info.allocation;
    const bool known = id.empty() || info.cluster.empty() ||
                       std::ranges::find(ids, id) != ids.end() ||
                       std::ranges::any_of(shown, [&](const auto& a) { return a.id == id; });
    if (!known) ids.push_back(id);
  };
  for (const WorkerNow& w : situation.workers) add(w.worker.info);
  if (situation.newest) add(situation.newest->info);
  return ids;
}

// Of those that are at work in allocations: another number where they are others.
std::uint64_t mark_of(const std::vector<WorkerNow>& workers) {
  Encoder epochs;
  for (const WorkerNow& w : workers) {
    if (w.is_at_work() && !w.worker.info.allocation.empty())
      epochs.varint(claim::raw(w.worker.epoch));
  }
  return fnv1a(epochs.bytes());
}

std::vector<std::string> silent_nodes(const Situation& situation) {
  std::vector<std::string> nodes;
  for (const WorkerNow& w : situation.workers) {
    const std::string& node = w.worker.info.node;
    if (w.silent && !node.empty() && std::ranges::find(nodes, node) == nodes.end())
      nodes.push_back(node);
  }
  return nodes;
}

// What the accounting knows of those that squeue may have forgotten, and who ended them.
void add_ended(std::vector<slurm::ShownAllocation> ended, const Ours& ours,
               std::vector<slurm::ShownAllocation>& all) {
  for (slurm::ShownAllocation& one : ended) {
    const auto same = std::ranges::find_if(
        all, [&](const auto& a) { return a.id == one.id && a.cluster == one.cluster; });
    if (same != all.end()) {
      same->canceled_by = one.canceled_by;
    } else if (ours.has(one)) {
      all.push_back(std::move(one));
    }
  }
}

// Asking::users: the user's and the owner's own, of a store that is no group's.
std::optional<std::vector<std::uint32_t>> users_of(const Path& store, std::uint32_t user) {
  std::vector<std::uint32_t> users{user};
  const beneath::Root root(store);
  const auto meta = beneath::entry(root, "META");
  struct stat is {};
  if (!meta.ok() || ::fstat(meta->directory.get(), &is) != 0) return users;
  if (workflow::is_of_a_group(is.st_mode)) return std::nullopt;
  users.push_back(is.st_uid);
  return users;
}

}  // namespace

const WorkerNow* Situation::find(claim::WorkerEpoch worker) const {
  const auto found =
      std::ranges::find_if(workers, [&](const WorkerNow& w) { return w.worker.epoch == worker; });
  return found == workers.end() ? nullptr : &*found;
}

bool Situation::anybody_at_work() const {
  return std::ranges::any_of(workers, &WorkerNow::is_at_work);
}

SlurmAnswer ask_slurm(const slurm::RunProgram& run, const Asking& asking,
                      const Situation& situation, WallTime now) {
  SlurmAnswer answer;
  const Ours ours(asking, situation);
  std::vector<std::string> names = names_of(situation);
  const bool all_named = !names.empty() && names.size() == situation.scripts.size();
  add_intents(situation.ledger, names);
  slurm::Shown shown =
      slurm::show_named(run, names, asking.users.value_or(std::vector<std::uint32_t>()));
  answer.failure = shown.failure;
  if (!answer.failure.empty()) return answer;
  answer.whole = shown.whole && all_named;
  slurm::Shown numbered = slurm::show_numbered(run, ids_beside(shown.allocations, situation));
  // It refuses what it has forgotten, too; who has answered before is not silent.
  if (names.empty() && numbered.failure.find("Invalid job id") == std::string::npos)
    answer.failure = numbered.failure;
  if (!answer.failure.empty()) return answer;
  answer.answered_at = now;
  std::ranges::move(numbered.allocations, std::back_inserter(shown.allocations));
  std::ranges::copy_if(shown.allocations, std::back_inserter(answer.allocations),
                       [&](const auto& a) { return ours.has(a); });
  const bool none_lives = std::ranges::all_of(answer.allocations, [](const auto& a) {
    return slurm::stage_of(a.state) == slurm::Stage::over;
  });
  if (none_lives && answer.whole)
    add_ended(slurm::show_ended(run, names, asking.made_at).allocations, ours, answer.allocations);
  std::ranges::stable_sort(answer.allocations, {}, &slurm::ShownAllocation::submitted);
  for (slurm::ShownAllocation& a : answer.allocations) a.script = ours.scheduler_of(a);
  answer.nodes = slurm::show_nodes(run, silent_nodes(situation));
  return answer;
}

Result<Situation> look_around(const workflow::Context& context, store::Store& store, AskSlurm ask) {
  Situation situation;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(situation.workflow, claim::read_workflow(reader));
    // For a remedy alone: what cannot be read is told by others.
    situation.ready.clear();
    (void)claim::scan_ready_classes(reader, [&](const claim::JobClass& c, const auto& head) {
      if (situation.ready.empty()) situation.first_ready = JobId{head.first};
      situation.ready.push_back(c);
      return situation.ready.size() < kMostClasses;
    });
    TORC_ASSIGN(situation.newest, claim::last_registered(reader));
    // What cannot be read of the ledger is told by who needs it.
    situation.ledger = {};
    if (auto ledger = list_allocations(reader, Which::live); ledger.ok())
      situation.ledger = *std::move(ledger);
    TORC_ASSIGN(situation.workers, look_at_workers(context, store.state_directory(), reader));
    return {};
  }));
  if (const auto settings = workflow::decode_workflow_settings(situation.workflow.settings))
    situation.kept = settings->run.kept_free();
  if (store.identity().engine == store::Engine::journal)
    situation.scripts = find_scripts(store.directory());
  const bool has_launcher =
      std::ranges::any_of(situation.ledger.schedulers, workflow::is_of_launcher);
  situation.has_launcher = has_launcher && store.identity().engine == store::Engine::journal;
  const bool is_about_slurm = !situation.scripts.empty() ||
                              (situation.newest && !situation.newest->info.allocation.empty()) ||
                              std::ranges::any_of(situation.workers, [](const auto& w) {
                                return !w.worker.info.allocation.empty();
                              });
  if (ask == AskSlurm::no || has_launcher || !is_about_slurm ||
      !workflow::can_ask_slurm(context, "squeue"))
    return situation;
  const BootTime deadline = context.clock.boot_now() + kAskLimit;
  const slurm::RunProgram run =
      [&](const std::vector<std::string>& argv) -> Result<slurm::CommandOutput> {
    const std::chrono::nanoseconds left = deadline - context.clock.boot_now();
    if (left.count() <= 0) return slurm::CommandOutput{-1, {}, {}};  // as one that took too long
    return worker::query_program(context, left)(argv);
  };
  Asking asking{context.world.uid,
                {store.directory(), context.world.disk.resolved(store.directory())},
                {},
                users_of(store.directory(), context.world.uid)};
  const auto meta = context.world.disk.status(store.directory() / "META");
  if (meta.ok() && meta->born > 0)
    asking.made_at = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds(meta->born));
  situation.slurm = ask_once(
      context, store.directory(), store.identity().instance_hex(), mark_of(situation.workers),
      [&] { return ask_slurm(run, asking, situation, context.clock.wall_now()); });
  return situation;
}

}  // namespace torc::report
