#include "lib/claim/transactions/asking.h"

#include <algorithm>
#include <utility>

#include "lib/base/codec.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

constexpr std::uint64_t kMostWorkers = 1'000'000;  // more is nonsense
constexpr std::uint64_t kMostRuns = 100'000;

std::string encode(const Inquiry& inquiry) {
  Encoder out;
  out.varint(inquiry.asked).varint(inquiry.answered).varint(inquiry.gone.size());
  for (const auto& [worker, how] : inquiry.gone)
    out.varint(raw(worker)).u8(static_cast<std::uint8_t>(how));
  out.varint(inquiry.ends.size());
  for (const RunEnd& run : inquiry.ends) {
    out.text(run.cluster).text(run.allocation);
    out.svarint(in_reach(run.start).count()).svarint(in_reach(run.end).count());
  }
  return std::move(out).bytes();
}

std::optional<Inquiry> decode(std::string_view value) {
  Decoder in(value);
  Inquiry inquiry;
  inquiry.asked = in.varint();
  inquiry.answered = in.varint();
  const std::uint64_t workers = in.varint();
  if (workers > kMostWorkers) return std::nullopt;
  for (std::uint64_t i = 0; i < workers && in.ok(); ++i) {
    const WorkerEpoch worker{in.varint()};
    const std::uint8_t how = in.u8();
    if (how > static_cast<std::uint8_t>(Gone::given_up)) return std::nullopt;
    inquiry.gone.emplace(worker, static_cast<Gone>(how));
  }
  const std::uint64_t runs = in.varint();
  if (runs > kMostRuns) return std::nullopt;
  for (std::uint64_t i = 0; i < runs && in.ok(); ++i) {
    RunEnd run;
    run.cluster = in.text();
    run.allocation = in.text();
    run.start = in.wall_time();
    run.end = in.wall_time();
    inquiry.ends.push_back(std::move(run));
  }
  return in.whole(std::move(inquiry));
}

}  // namespace

Inquiry read_inquiry(const Reader& reader) {
  const auto value = reader.get(Key(Table::inquiry));
  return value ? decode(*value).value_or(Inquiry{}) : Inquiry{};
}

bool begin_inquiry(Transaction& tx, std::uint64_t asked) {
  Inquiry inquiry = read_inquiry(tx);
  if (inquiry.asked != asked) return false;
  ++inquiry.asked;
  tx.put(Key(Table::inquiry), encode(inquiry));
  return true;
}

Result<void> note_answer(Transaction& tx, std::uint64_t asked,
                         const std::map<WorkerEpoch, Gone>& gone, const std::vector<RunEnd>& ends) {
  Inquiry inquiry = read_inquiry(tx);
  const bool is_newest = asked > inquiry.answered;
  if (is_newest) inquiry.answered = std::min(asked, inquiry.asked);
  for (const auto& [worker, how] : gone) inquiry.gone.emplace(worker, how);
  State state(tx);
  std::erase_if(inquiry.gone, [&](const auto& fact) { return !state.lease(fact.first); });
  TORC_TRY(state.sound());
  if (is_newest) {
    std::erase_if(inquiry.ends, [&](const RunEnd& old) {
      return std::any_of(ends.begin(), ends.end(),
                         [&](const RunEnd& now) { return now.cluster == old.cluster; });
    });
    inquiry.ends.insert(inquiry.ends.end(), ends.begin(), ends.end());
  }
  tx.put(Key(Table::inquiry), encode(inquiry));
  return {};
}

Result<bool> move_end(Transaction& tx, WorkerEpoch epoch, WallTime ends_at, WallTime start) {
  State state(tx);
  const auto lease = state.lease(epoch);
  auto worker = state.worker(epoch);
  TORC_TRY(state.sound());
  if (!lease || !worker || worker->status != WorkerStatus::registered) return false;
  WorkerInfo& info = worker->info;
  const bool same_start = info.allocation_start.count() != 0 || start.count() == 0;
  if (info.ends_at == ends_at && info.end_is_told && same_start) return false;
  info.ends_at = ends_at;
  info.end_is_told = true;
  if (!same_start) info.allocation_start = start;
  tx.put(Key(Table::worker, raw(epoch)),
         encode_worker(info, WorkerStatus::registered, Lease{}, {}));
  return true;
}

}  // namespace torc::claim
