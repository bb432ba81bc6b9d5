#include "lib/report/why_locality.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/used_resources.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/room.h"

namespace torc::report {
namespace {

// Amounts of pieces, GPUs among them: of whole ones how many.
Amounts pieces_of(const Resources& need, const Resources& total) {
  Amounts pieces;
  if (need.gpus > 0) set_amount(pieces, {std::string(kGpus), need.gpus * kWhole});
  for (const Amount& a : need.named) {
    if (claim::stock_of(total, a.name).by_piece) set_amount(pieces, a);
  }
  return pieces;
}

bool needs_several(const Amounts& pieces) {
  return std::ranges::any_of(pieces, [](const Amount& a) {
    return a.thousandths > kWhole && a.thousandths != kAllThereIs;
  });
}

// Whole pieces that no job has; of a sum what is left.
std::uint64_t left_of(std::string_view name, const Resources& total, const Resources& used) {
  const claim::Stock stock = claim::stock_of(total, name);
  std::uint64_t taken = 0;
  for (const Amount& a : used.named) {
    if (a.name == name ||
        (name != kGpus && (torc::is_of(a.name, name) || torc::is_of(name, a.name))))
      taken += a.thousandths;
  }
  if (stock.by_piece) taken = (taken + kWhole - 1) / kWhole * kWhole;
  return stock.thousandths > taken ? stock.thousandths - taken : 0;
}

bool has_as_much(const Resources& need, const Resources& total, const Resources& used) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.shared && kind.get(need) + kind.get(used) > kind.get(total)) return false;
  }
  Amounts all = need.named;
  if (need.gpus > 0) set_amount(all, {std::string(kGpus), need.gpus * kWhole});
  return std::ranges::all_of(all, [&](const Amount& a) {
    const std::uint64_t left = left_of(a.name, total, used);
    if (a.thousandths == kAllThereIs)
      return left > 0 && left == claim::stock_of(total, a.name).thousandths;
    return a.thousandths <= left;
  });
}

// "3 of 4 GPUs", "2 of 6 'fpga'".
std::string say_free(const Amounts& pieces, const Resources& total, const Resources& used) {
  std::string text;
  for (const Amount& a : pieces) {
    text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ",
                        show_thousandths(left_of(a.name, total, used)),
                        show_thousandths(claim::stock_of(total, a.name).thousandths),
                        a.name == kGpus ? "GPUs" : fmt::format("'{}'", a.name));
  }
  return text;
}

}  // namespace

std::optional<Reason> why_pieces_lie_apart(const claim::Reader& reader,
                                           const claim::JobClass& job_class,
                                           const std::vector<claim::Worker>& fitting,
                                           const std::string& store, const std::string& job) {
  if (job_class.need.nodes > 1) return std::nullopt;
  std::string where;
  for (const claim::Worker& w : fitting) {
    if (w.held == 0 || w.info.ignores_resources) continue;
    const auto used = claim::used_by_jobs_of(reader, w.epoch);
    if (!used.ok()) return std::nullopt;
    const Resources total = claim::total_of(w.info);
    for (std::uint32_t a = 0; a < job_class.alternatives(); ++a) {
      const Resources& need = job_class.need_of(a);
      if (!has_as_much(need, total, *used)) continue;
      const Amounts pieces = pieces_of(need, total);
      if (need.locality != Locality::strict || !needs_several(pieces)) return std::nullopt;
      if (where.empty())
        where = fmt::format("worker {} on {} has {} free", claim::raw(w.epoch),
                            printable(w.info.host), say_free(pieces, total, *used));
    }
  }
  if (where.empty()) return std::nullopt;
  return Reason{"locality",
                fmt::format("It is strict (locality): its pieces have to be of as few groups as "
                            "they could be on a free node. By number there is enough: {}. Who has "
                            "it as near as that claims it within half a minute, so what is free "
                            "lies in different groups.",
                            where),
                fmt::format("nothing needs to be done: it starts when enough are free near each "
                            "other; torc set {} {} locality=preferred lets it start with what is "
                            "free",
                            store, job)};
}

}  // namespace torc::report
