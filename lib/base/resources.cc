#include "lib/base/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/base/quantities.h"

namespace torc {
namespace {

std::string listed(const Resources& resources, bool all) {
  const Resources usual;
  std::string out;
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.measure == Measure::locality) continue;
    const std::uint64_t amount = kind.get(resources);
    if (!(all || kind.shared) || !(kind.shown || amount != kind.get(usual))) continue;
    out += (out.empty() ? "" : ", ") + show_amount(kind, amount);
  }
  const std::string named = show(resources.named);
  if (!named.empty()) out += (out.empty() ? "" : ", ") + named;
  if (all && resources.locality != usual.locality)
    out += fmt::format(", locality {}", word(resources.locality));
  return out;
}

// Stands before the names, as one that nobody can give: a torc that does not know it refuses the
// record.
constexpr std::string_view kLocalityName;

constexpr std::string_view kLocalities[] = {"preferred", "strict", "scatter"};  // by Locality

}  // namespace

std::string_view word(Locality locality) {
  const auto at = static_cast<std::size_t>(locality);
  return at < std::size(kLocalities) ? kLocalities[at] : "?";
}

std::optional<Locality> locality_named(std::string_view word) {
  const auto* const at = std::ranges::find(kLocalities, word);
  if (at == std::end(kLocalities)) return std::nullopt;
  return static_cast<Locality>(at - std::begin(kLocalities));
}

std::uint32_t gpu_count(const Resources& resources) {
  std::uint64_t count = resources.gpus;
  for (const Amount& a : resources.named) {
    if (!is_gpu(a.name)) continue;
    count += a.thousandths == kAllThereIs ? 1 : (a.thousandths + kWhole - 1) / kWhole;
  }
  return static_cast<std::uint32_t>(count);
}

Resources no_resources() {
  Resources out;
  for (const ResourceKind& kind : kResourceKinds) kind.put(out, 0);
  return out;
}

std::string show_amount(const ResourceKind& kind, std::uint64_t amount) {
  const std::string number = show_number(kind, amount);
  const bool has_number = kind.measure == Measure::count || kind.measure == Measure::bytes;
  if (!has_number && !kind.one.empty()) return fmt::format("{} {}", kind.one, number);
  if (kind.measure != Measure::count) return number;
  return fmt::format("{} {}", number, amount == 1 ? kind.one : kind.many);
}

std::string show_number(const ResourceKind& kind, std::uint64_t amount) {
  switch (kind.measure) {
    case Measure::count:
      return std::to_string(amount);
    case Measure::bytes:
      return show_bytes(ByteCount{amount});
    case Measure::seconds:
      return show_exactly(std::chrono::seconds(amount));
    case Measure::locality:
      return std::string(word(static_cast<Locality>(amount)));
  }
  return "?";
}

std::string show(const Resources& resources) {
  return listed(resources, true);
}

std::string show_shared(const Resources& resources) {
  return listed(resources, false);
}

std::string say_least_time(const Resources& resources) {
  return fmt::format("it {} {}", resources.min_time.count() > 0 ? "needs at least" : "declares",
                     show_duration(least_time(resources)));
}

std::string json_name(const ResourceKind& kind) {
  const char* unit = kind.measure == Measure::bytes     ? "_bytes"
                     : kind.measure == Measure::seconds ? "_seconds"
                                                        : "";
  return std::string(kind.word) + unit;
}

void write_resources(Encoder& out, const Resources& r) {
  out.varint(r.cpus).varint(r.gpus).varint(r.nodes).varint(r.memory.value);
  out.svarint(in_reach(r.runtime).count());
}

bool has_later_resources(const Resources& resources) {
  if (!resources.named.empty() || resources.locality != Locality::preferred) return true;
  return std::ranges::any_of(
      kResourceKinds, [&](const ResourceKind& k) { return k.later && k.get(resources) != 0; });
}

void write_later_resources(Encoder& out, const Resources& resources, Behind behind) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.later) out.varint(kind.get(resources));
  }
  const bool has_locality = resources.locality != Locality::preferred;
  if (resources.named.empty() && !has_locality && behind == Behind::nothing) return;
  out.varint(resources.named.size() + (has_locality ? 1 : 0));
  if (has_locality) out.text(kLocalityName).varint(static_cast<std::uint64_t>(resources.locality));
  write_amounts_of(out, resources.named);
}

bool read_later_resources(Decoder& in, Resources& resources) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.later && !in.at_end()) kind.put(resources, in.varint());
  }
  if (!in.ok() || in.at_end()) return in.ok();
  std::uint64_t count = in.up_to(kMostNamed + 1);
  const bool nothing = count == 0;
  Decoder next = in;
  if (count > 0 && next.text() == kLocalityName) {
    const std::uint64_t locality = next.up_to(static_cast<std::uint64_t>(kLastLocality));
    if (!next.ok() || locality == 0) return false;
    resources.locality = static_cast<Locality>(locality);
    in = next;
    --count;
  }
  auto named = read_amounts_of(in, count);
  if (!named) return false;
  resources.named = *std::move(named);
  return !nothing || !in.at_end();
}

Resources read_resources(Decoder& in) {
  Resources r;
  r.cpus = in.u32();
  r.gpus = in.u32();
  r.nodes = in.u32();
  r.memory.value = in.varint();
  r.runtime = in.seconds();
  return r;
}

}  // namespace torc
