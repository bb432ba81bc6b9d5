#include "lib/claim/transactions/set_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

std::uint64_t left(std::uint64_t most, std::uint64_t used) {
  return most - std::min(most, used);
}

Result<std::uint64_t> count_too_large(const Reader& reader, std::uint32_t number,
                                      std::uint32_t most) {
  std::uint64_t jobs = 0;
  Result<void> counted;
  TORC_TRY(scan_ready_classes(reader, [&](const JobClass& c, const ReadyRange& head) {
    const auto share = std::ranges::find(c.limits, number, &LimitShare::number);
    if (share == c.limits.end() || share->amount <= most) return true;
    const auto ready = count_ready(reader, head.job_class);
    if (!ready) counted = ready.error();
    if (ready) jobs += *ready;
    return ready.ok();
  }));
  TORC_TRY(counted);
  return jobs;
}

}  // namespace

std::uint64_t LimitChange::freed() const {
  const std::uint64_t was = left(before.most, after.used);
  const std::uint64_t is = left(after.limit.most, after.used);
  return is - std::min(is, was);
}

Result<LimitChange> set_limit(Transaction& tx, std::uint32_t number, std::uint32_t most) {
  const auto known = read_limit(tx, number);
  if (!known) return invalid(fmt::format("there is no limit {}", number), "name another");
  LimitChange change{known->limit, *known};
  Limit& limit = change.after.limit;
  const std::uint32_t of_file = limit.of_file();
  limit.most = most;
  limit.before_set.reset();
  if (most != of_file) limit.before_set = of_file;
  if (limit != change.before) tx.put(Key(Table::limit).be32(number), encode(limit));
  TORC_ASSIGN(change.too_large, count_too_large(tx, number, most));
  return change;
}

}  // namespace torc::claim
