#include "lib/claim/queries/idle_workers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

constexpr std::size_t kMostClasses = 16;  // of ready jobs that are looked at
constexpr std::size_t kLooksEach = 4;
constexpr std::size_t kLooksMore = 60;

std::vector<JobClass> ready_classes(State& state) {
  std::vector<JobClass> classes;
  each_ready_head(state, [&](const ReadyRange& range) {
    classes.push_back(state.job_class(range.job_class));
    return classes.size() < kMostClasses;
  });
  return classes;
}

// Neighbouring turns begin far from each other.
std::uint64_t scattered(std::uint64_t turn) {
  turn = (turn ^ (turn >> 31U)) * 0x9E3779B97F4A7C15U;
  return turn ^ (turn >> 29U);
}

}  // namespace

Result<std::vector<IdleWorker>> find_idle_workers(const Reader& reader, const IdleSearch& search) {
  std::vector<IdleWorker> found;
  State state(reader);
  const auto first = state.id_of(Table::idle, reader.seek(Key(Table::idle, 0)));
  const auto last = state.id_of(Table::idle, last_of(reader, Table::idle));
  if (search.most == 0 || !first || !last) {
    TORC_TRY(state.sound());
    return found;
  }
  const std::vector<JobClass> classes =
      search.for_ready_jobs ? ready_classes(state) : std::vector<JobClass>();
  const auto is_wanted = [&](const WorkerInfo& info) {
    if (!search.for_ready_jobs) return true;
    const Offer offer = whole_offer(info, search.now);
    return std::any_of(classes.begin(), classes.end(), [&](const JobClass& c) {
      const bool together = c.need.nodes > 1 && !info.group.empty();
      return together ? could_be_part(c, offer) : could_fit(c, offer);
    });
  };
  std::size_t looks = kLooksEach * search.most + kLooksMore;
  // Those in [from, to].
  const auto look_from = [&](std::uint64_t from, std::uint64_t to) {
    while (found.size() < search.most && looks > 0 && from <= to) {
      --looks;
      const auto epoch = state.id_of(Table::idle, reader.seek(Key(Table::idle, from)));
      if (!epoch || *epoch > to) return;
      from = *epoch + 1;
      if (WorkerEpoch{*epoch} == search.self) continue;
      auto worker = state.worker(WorkerEpoch{*epoch});
      if (!worker || worker->status != WorkerStatus::registered || !worker->info.bell) continue;
      if (is_wanted(worker->info))
        found.push_back(
            {WorkerEpoch{*epoch}, *std::move(worker->info.bell), std::move(worker->info.boot_id)});
      if (from == 0) return;
    }
  };
  // Of a span of all numbers, as only a forged store has it, the first is as good as any.
  const std::uint64_t span = *last - *first;
  const std::uint64_t begin = span == UINT64_MAX ? 0 : *first + scattered(search.turn) % (span + 1);
  look_from(begin, *last);
  if (begin > *first) look_from(*first, begin - 1);
  TORC_TRY(state.sound());
  return found;
}

}  // namespace torc::claim
