#include "lib/base/resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantities.h"

namespace torc {
namespace {

std::string listed(const Resources& resources, bool all) {
  const Resources usual;
  std::string out;
  for (const ResourceKind& kind : kResourceKinds) {
    const std::uint64_t amount = kind.get(resources);
    if (!(all || kind.shared) || !(kind.shown || amount != kind.get(usual))) continue;
    out += (out.empty() ? "" : ", ") + show_amount(kind, amount);
  }
  const std::string named = show(resources.named);
  return named.empty() ? out : out + (out.empty() ? "" : ", ") + named;
}

}  // namespace

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
  if (kind.measure == Measure::seconds && !kind.one.empty())
    return fmt::format("{} {}", kind.one, number);
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
  if (!resources.named.empty()) return true;
  return std::ranges::any_of(
      kResourceKinds, [&](const ResourceKind& k) { return k.later && k.get(resources) != 0; });
}

void write_later_resources(Encoder& out, const Resources& resources) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.later) out.varint(kind.get(resources));
  }
  if (!resources.named.empty()) write_amounts(out, resources.named);
}

bool read_later_resources(Decoder& in, Resources& resources) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.later && !in.at_end()) kind.put(resources, in.varint());
  }
  if (!in.ok() || in.at_end()) return in.ok();
  auto named = read_amounts(in);
  if (!named) return false;
  resources.named = *std::move(named);
  return !resources.named.empty() || !in.at_end();
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
