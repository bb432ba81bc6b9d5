#include "tests/simulation/person.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/claim/tables/state.h"
#include "lib/worker/bell/ringer.h"
#include "lib/workflow/change/apply.h"
#include "lib/workflow/change/removal.h"
#include "tests/simulation/node_store.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;

constexpr int kLoginNode = 1000;
constexpr Time kAgain = 20s;  // until it is looked whether a file is to be applied once more

}  // namespace

Person::Person(Cluster& cluster)
    : cluster_(cluster), world_(cluster.world()), node_(cluster.world(), kLoginNode) {}

Person::~Person() {
  kill();
}

void Person::begin() {
  files_.push_back(cluster_.edits()->file());
  next();
}

bool Person::is_done() const {
  return at_ >= cluster_.scenario().edits.size() && thread_ == nullptr && tries_ == 0 &&
         !cluster_.edits()->is_unsettled();
}

// --- one command after the other ---

void Person::next() {
  const auto& edits = cluster_.scenario().edits;
  const Time when = at_ < edits.size() ? edits[at_].at : world_.now() + kAgain;
  world_.at(when, [this] { decide(); });
}

// After the last edit the file is applied until no worker has a job by an earlier one.
void Person::decide() {
  const auto& edits = cluster_.scenario().edits;
  const bool is_edit = at_ < edits.size();
  if (!is_edit && !cluster_.edits()->is_unsettled()) return next();
  random_ = SeededEntropy(is_edit ? edits[at_].seed : world_.random().next());
  what_ = is_edit ? edits[at_].what : Edit::What::again;
  file_ = cluster_.edits()->file();
  names_.clear();
  ends_running_ = is_edit && random_.next() % 4 == 0;
  const auto some_of = [&](const std::vector<std::string>& all) {
    if (all.empty()) return;
    const std::uint64_t first = random_.next() % all.size();
    const std::uint64_t count = 1 + random_.next() % (random_.next() % 2 == 0 ? 2 : 20);
    for (std::uint64_t i = first; i < std::min<std::uint64_t>(first + count, all.size()); ++i)
      names_.push_back(all[i]);
  };
  if (what_ == Edit::What::apply) file_ = edited(file_, random_);
  if (what_ == Edit::What::go_back) file_ = files_[random_.next() % files_.size()];
  if (what_ == Edit::What::remove) some_of(cluster_.edits()->names());
  if (what_ == Edit::What::put_back) some_of(cluster_.edits()->removed_names());
  was_committed_ = was_kept_ = given_up_ = false;
  say();
}

void Person::say() {
  ++tries_;
  ++command_;
  world_.tell(fmt::format("PERSON {}, try {}", show(what_), tries_));
  alive_ = true;
  succeeded_ = wrote_ = false;
  be_in_trouble();
  thread_ = std::make_unique<Fiber>([this] { run(); });
  resume();
}

// Every other command has none.
void Person::be_in_trouble() {
  if (world_.calm || random_.next() % 2 == 0) return;
  const auto soon = [&](std::uint64_t milliseconds) {
    return world_.now() + std::chrono::milliseconds(random_.next() % milliseconds);
  };
  switch (random_.next() % 4) {
    case 0:
      world_.at(soon(150), [this, of = command_] {
        if (of == command_) kill();
      });
      return;
    case 1:
      node_.cut_off_until = soon(60'000);
      return;
    case 2:
      world_.at(soon(150), [this, until = soon(120'000)] { node_.stands_until = until; });
      return;
    default:
      node_.loses_replies_until = soon(60'000);
  }
}

void Person::kill() {
  if (thread_ == nullptr || !alive_) return;
  alive_ = false;
  world_.tell("PERSON is killed");
  while (thread_ != nullptr && !thread_->done()) resume();
}

void Person::resume() {
  Waiter* before = std::exchange(world_.caller, this);
  const bool was_in = std::exchange(in_thread_, true);
  thread_->resume();
  in_thread_ = was_in;
  world_.caller = before;
  if (thread_->done()) world_.at(world_.now(), [this] { ended(); });
}

void Person::ended() {
  if (thread_ == nullptr) return;
  thread_.reset();
  alive_ = false;
  ++command_;
  if (!succeeded_ && !given_up_) {
    world_.at(world_.now() + std::chrono::milliseconds(500 + random_.next() % 30'000),
              [this] { say(); });
    return;
  }
  tries_ = 0;
  if (what_ == Edit::What::apply && succeeded_) files_.push_back(file_);
  if (what_ != Edit::What::again) ++at_;
  cluster_.start_where_nobody_is();
  next();
}

void Person::wait(Time time) {
  if (!alive_) return;
  world_.at(world_.now() + time, node_, [this, v = ++resume_version_] {
    if (v == resume_version_ && thread_ != nullptr && !thread_->done()) resume();
  });
  thread_->yield();
}

void Person::wait_for_filesystem() {
  while (alive_ && node_.cut_off_until > world_.now()) wait(node_.cut_off_until - world_.now());
}

bool Person::loses_replies() const {
  return node_.loses_replies_until > world_.now();
}

// --- what a command does ---

void Person::run() {
  const Result<void> done = [&]() -> Result<void> {
    switch (what_) {
      case Edit::What::remove:
        return remove();
      case Edit::What::put_back:
        return put_back();
      default:
        return apply();
    }
  }();
  if (!alive_) return;
  if (!done) world_.tell("PERSON is told: " + done.error().text());
  given_up_ = !done && done.error().kind == ErrorKind::invalid;
  if (given_up_ && what_ != Edit::What::remove)
    world_.violate("a change is refused: " + done.error().text());
  succeeded_ = done.ok();
}

Result<void> Person::change(const store::Store::Body& body) {
  NodeStore store(cluster_, *this, [this](const store::Reader& reader) { committed(reader); });
  const bool rings = cluster_.scenario().bells;
  worker::Ringer ringer(rings ? &cluster_.bells() : nullptr, claim::WorkerEpoch{}, node_.name);
  TORC_ASSIGN(const store::Commit done,
              store.commit(0, [&](store::Transaction& tx) -> Result<void> {
                ringer.before(tx);
                TORC_TRY(body(tx));
                ringer.after(tx, 0, node_.clock->wall_now());
                ringer.concern_changed(tx);
                return {};
              }));
  if (done.wrote) ringer.ring(done.sequence, cluster_.state().identity().instance);
  return {};
}

void Person::committed(const store::Reader& reader) {
  wrote_ = true;
  ++cluster_.figures.edits;
  is_so(reader, EditedWorkflow::Seen::at_once);
  was_committed_ = true;
  was_kept_ = cluster_.edits()->is_unsettled();
}

void Person::is_so(const store::Reader& reader, EditedWorkflow::Seen seen) {
  if (what_ == Edit::What::remove) {
    cluster_.edits()->taken_out(reader, names_);
  } else if (what_ == Edit::What::put_back) {
    cluster_.edits()->put_back(reader, names_);
  } else {
    cluster_.edits()->applied(reader, file_, seen);
  }
}

Result<void> Person::apply() {
  NodeStore store(cluster_, *this);
  const store::World world{
      *node_.disk, *node_.clock, world_.random(), node_.name, node_.name, "pid:[1]", 0, {}};
  const workflow::Context context{
      *node_.clock, world, world,
      [](std::string_view) -> std::optional<std::string> { return std::nullopt; }, "/"};
  workflow::ApplyTerms terms;
  terms.directory = "/";
  terms.restarts_running = ends_running_;
  const bool is_made = was_committed_;
  const bool may_change = was_kept_;
  terms.admit = [&](const workflow::Difference& found) -> Result<void> {
    if (is_made && !may_change && !found.nothing())
      world_.violate("a file that is applied again changes the workflow once more: " +
                     (found.edits.empty() ? "an entry" : found.edits.front().entry));
    return {};
  };
  TORC_TRY(workflow::apply(context, store, loaded_of(file_), terms,
                           [&](const store::Store::Body& body) { return change(body); }));
  if (wrote_) return {};
  return store.view(store::Freshness::cached, [&](const store::Reader& reader) {
    is_so(reader, EditedWorkflow::Seen::later);
    return Result<void>();
  });
}

Result<std::vector<claim::JobRange>> Person::numbers() {
  NodeStore store(cluster_, *this);
  std::vector<claim::JobRange> jobs;
  TORC_TRY(store.view(store::Freshness::latest, [&](const store::Reader& reader) -> Result<void> {
    workflow::RecipeBook book;
    for (const std::string& name : names_) {
      TORC_ASSIGN(const auto id, workflow::find_job(book, reader, name));
      if (id) jobs.push_back({*id, 1});
    }
    return {};
  }));
  std::ranges::sort(jobs, {}, &claim::JobRange::first);
  return jobs;
}

Result<void> Person::remove() {
  if (names_.empty()) return {};
  TORC_ASSIGN(const auto jobs, numbers());
  using workflow::Dependents;
  const Dependents dependents = ends_running_ ? Dependents::refuse : Dependents::remove;
  claim::Origin origin;
  origin.at = node_.clock->wall_now();
  const bool is_made = was_committed_;
  return change([&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const auto change, workflow::take_out(tx, jobs, dependents, origin));
    if (is_made && change.total() > 0) world_.violate("jobs are removed twice by the same command");
    return {};
  });
}

Result<void> Person::put_back() {
  if (names_.empty()) return {};
  TORC_ASSIGN(const auto jobs, numbers());
  claim::Origin origin;
  origin.at = node_.clock->wall_now();
  const bool is_made = was_committed_;
  return change([&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const auto back, workflow::put_back(tx, jobs, origin));
    if (is_made && back.change.total() > 0)
      world_.violate("jobs are put back twice by the same command");
    return {};
  });
}

}  // namespace torc::simulation
