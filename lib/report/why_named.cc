#include "lib/report/why_named.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/room.h"
#include "lib/report/start_by_hand.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::report {
namespace {

// As `torc set` takes it.
std::string setting(const std::string& name, const std::string& amount) {
  return fmt::format("{}{}={}", name == kGpus ? "" : "resources.", name, amount);
}

// A name of what the workers have that this one may have been meant to be.
std::string meant_by(const std::string& name, const std::vector<claim::Worker>& workers) {
  std::vector<std::string> bases;
  for (const claim::Worker& w : workers) {
    for (const Amount& a : w.info.more.named) {
      const std::string_view base = base_name(a.name);
      if (base != base_name(name) && std::ranges::find(bases, base) == bases.end())
        bases.emplace_back(base);
    }
  }
  return spec::nearest(base_name(name), bases);
}

}  // namespace

NamedLack lack_of(const Amount& need, const std::vector<claim::Worker>& workers,
                  const std::string& store, const std::string& job) {
  NamedLack lack;
  claim::Stock most;
  for (const claim::Worker& w : workers) {
    const Resources total = claim::total_of(w.info);
    const claim::Stock stock = claim::stock_of(total, need.name);
    if (!w.info.ignores_resources && !claim::could_give(total, need)) ++lack.workers;
    if (stock.thousandths > most.thousandths) most = stock;
  }
  const bool gpus = need.name == kGpus;
  const std::string start = fmt::format("start a worker {}: torc worker {}{}",
                                        gpus ? "where there are GPUs" : "that has it", store,
                                        gpus ? std::string() : resource_flag(need));
  const std::string needs =
      fmt::format("it needs {} '{}'", show_thousandths(need.thousandths), need.name);
  const auto set = [&](const std::string& amount) {
    return fmt::format("torc set {} {} {}", store, job, setting(need.name, amount));
  };
  if (most.thousandths == 0) {
    lack.text = needs + ", and no worker that is there has any";
    const std::string meant = meant_by(need.name, workers);
    lack.remedy =
        meant.empty()
            ? start
            : fmt::format("did you mean '{}', which there is? {} {}; or {}", meant, set("none"),
                          setting(meant, show_thousandths(need.thousandths)), start);
  } else if (most.by_piece && !is_by_piece(need.thousandths)) {
    lack.text = needs + ", which is given as whole pieces or as a part of one";
    const std::uint64_t less = need.thousandths / kWhole;
    const bool more_fits = (less + 1) * kWhole <= most.thousandths;
    lack.remedy = fmt::format("let it need whole ones: {}; or a part of one, below 1",
                              set(std::to_string(more_fits ? less + 1 : less)));
  } else {
    lack.text = fmt::format("{}, and {} at most {}", needs,
                            workers.size() == 1 ? "that worker has" : "they have",
                            show_thousandths(most.thousandths));
    lack.remedy =
        fmt::format("{}, or let it need less: {}", start, set(show_thousandths(most.thousandths)));
  }
  return lack;
}

}  // namespace torc::report
