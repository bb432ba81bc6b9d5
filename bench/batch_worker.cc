#include "bench/batch_worker.h"

#include <fmt/format.h>

#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"

namespace torc::bench {
namespace {

constexpr WallTime kNow{1'800'000'000'000'000};
constexpr ByteCount kJobMemory = mebibytes(64);

// A node with room for exactly `jobs` jobs at once.
claim::Offer offer_for(std::uint64_t jobs) {
  claim::Offer offer;
  offer.cpus = offer.total_cpus = static_cast<std::uint32_t>(jobs);
  offer.memory = offer.total_memory = ByteCount{kJobMemory.value * jobs};
  offer.max_jobs = jobs;
  return offer;
}

claim::Finished completed(const claim::ClaimToken& token) {
  claim::Finished out;
  out.token = token;
  out.state = claim::JobState::completed;
  out.outcome.cause = claim::EndCause::exited;
  out.outcome.exit_code = 0;
  out.outcome.started_at = kNow;
  out.outcome.ended_at = kNow + std::chrono::seconds(12);
  out.outcome.max_rss = mebibytes(37);
  out.outcome.cpu_time = std::chrono::milliseconds(11'700);
  return out;
}

}  // namespace

claim::Plan plan_of(std::uint64_t jobs, Shape shape) {
  claim::Plan plan;
  plan.name = "bench";
  claim::JobClass job_class;
  job_class.need.memory = kJobMemory;
  plan.classes = {job_class};
  const std::uint64_t templates = shape == Shape::sweep ? 1 : jobs;
  plan.templates.reserve(templates);
  for (std::uint64_t i = 0; i < templates; ++i) {
    claim::Template t;
    t.first = JobId{i + 1};
    t.count = jobs / templates;
    t.priority = static_cast<std::int32_t>(i % 2);
    t.name_hash = shape == Shape::sweep ? 0 : claim::name_hash(fmt::format("job_{}", i + 1));
    t.recipe = "simulate --seed {i} --out out_{i}.txt";
    plan.templates.push_back(std::move(t));
  }
  return plan;
}

Result<BatchWorker> BatchWorker::join(store::Store& store) {
  claim::WorkerEpoch self{};
  TORC_TRY(store.commit(0, [&](store::Transaction& tx) -> Result<void> {
    claim::WorkerInfo info;
    info.host = "bench";
    info.cpus = 64;
    info.memory = mebibytes(65536);
    info.registered_at = kNow;
    TORC_ASSIGN(self, claim::register_worker(tx, info));
    return {};
  }));
  return BatchWorker(store, self);
}

Result<void> BatchWorker::turn(std::uint64_t batch) {
  claim::Exchange exchange;
  for (const claim::ClaimToken& token : held_) exchange.finishes.push_back(completed(token));
  exchange.offer = offer_for(batch);
  return say(std::move(exchange), batch);
}

Result<void> BatchWorker::fail(std::uint64_t every, std::uint64_t batch) {
  claim::Exchange exchange;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    exchange.finishes.push_back(completed(held_[i]));
    if (i % every != 0) continue;
    exchange.finishes.back().state = claim::JobState::failed;
    exchange.finishes.back().outcome.exit_code = 1;
  }
  exchange.offer = offer_for(batch);
  return say(std::move(exchange), batch);
}

Result<void> BatchWorker::give_back() {
  claim::Exchange exchange;
  exchange.returns = held_;
  return say(std::move(exchange), 0);
}

Result<void> BatchWorker::say(claim::Exchange exchange, std::uint64_t batch) {
  exchange.worker = self_;
  exchange.now = kNow;
  claim::Answer answer;
  TORC_TRY(store_->commit(claim::raw(self_), [&](store::Transaction& tx) -> Result<void> {
    const auto begun = std::chrono::steady_clock::now();
    TORC_ASSIGN(answer, claim::exchange(tx, exchange));
    exchange_time_ = std::chrono::steady_clock::now() - begun;
    return {};
  }));
  held_.clear();
  for (const claim::Grant& grant : answer.grants) held_.push_back(grant.token);
  if (held_.size() == batch && answer.refused.empty()) return {};
  return Error{ErrorKind::corrupt,
               fmt::format("asked for {} jobs, got {}; {} reports refused", batch, held_.size(),
                           answer.refused.size()),
               "this is a mistake of the benchmark or of lib/claim"};
}

}  // namespace torc::bench
