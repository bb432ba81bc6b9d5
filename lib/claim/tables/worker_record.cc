// How a worker and its lease are written. See tables.h.
#include <algorithm>
#include <utility>

#include "lib/base/codec.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// Ascending ids, as runs.
void put_ids(Encoder& out, const std::vector<std::uint64_t>& ids) {
  out.varint(ids.size());
  std::uint64_t end = 0;  // of the run before
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t n = 1;
    while (i + n < ids.size() && ids[i + n] == ids[i] + n) ++n;
    out.varint(ids[i] - end).varint(n);
    end = ids[i] + n;
    i += n;
  }
}

bool take_ids(Decoder& in, std::uint64_t highest, std::vector<std::uint64_t>& ids) {
  const std::uint64_t all = in.varint();
  if (all > Lease::kMaxHeld) return false;
  std::uint64_t end = 0;
  while (in.ok() && ids.size() < all) {
    const std::uint64_t gap = in.varint();
    const std::uint64_t n = in.varint();
    if (n == 0 || n > all - ids.size() || gap > highest || end + gap + n - 1 > highest)
      return false;
    const std::uint64_t first = end + gap;
    for (std::uint64_t i = 0; i < n; ++i) ids.push_back(first + i);
    end = first + n;
  }
  return in.ok();
}

void put_bell(Encoder& out, const BellPlace& bell) {
  out.raw({reinterpret_cast<const char*>(bell.key.data()), bell.key.size()});
  out.varint(bell.addresses.size());
  for (const BellAddress& a : bell.addresses) out.text(a.address).varint(a.port);
}

std::optional<BellPlace> take_bell(Decoder& in) {
  BellPlace bell;
  const std::string_view key = in.raw(bell.key.size());
  std::copy(key.begin(), key.end(), bell.key.begin());
  const std::uint64_t addresses = in.varint();
  if (!in.ok() || addresses == 0 || addresses > kMostBellAddresses) return std::nullopt;
  for (std::uint64_t left = addresses; left > 0; --left) {
    BellAddress a;
    a.address = in.text();
    a.port = static_cast<std::uint16_t>(in.up_to(UINT16_MAX));
    if (a.address.size() != 4 && a.address.size() != 16) return std::nullopt;
    bell.addresses.push_back(std::move(a));
  }
  return bell;
}

// What a lease says by a bit.
constexpr unsigned kBarred = 1;
constexpr unsigned kHasBell = 2;
constexpr unsigned kIdle = 4;
constexpr unsigned kListed = 8;
constexpr unsigned kInGang = 16;
constexpr unsigned kReserved = 32;
constexpr unsigned kCounts = 64;
constexpr unsigned kAllBits = 127;

unsigned bits_of(const Lease& lease) {
  return (lease.barred ? kBarred : 0U) | (lease.has_bell ? kHasBell : 0U) |
         (lease.idle ? kIdle : 0U) | (lease.node ? kListed : 0U) | (lease.gang ? kInGang : 0U) |
         (lease.reserved ? kReserved : 0U) | (lease.used_core_ms ? kCounts : 0U);
}

}  // namespace

std::string encode(const Lease& lease) {
  Encoder out;
  out.varint(lease.renewals).svarint(in_reach(lease.last_seen).count()).varint(lease.finished);
  out.svarint(in_reach(lease.ttl).count()).u8(static_cast<std::uint8_t>(bits_of(lease)));
  if (lease.node) out.be64(lease.node->group).varint(lease.node->free_at);
  if (lease.gang) out.varint(lease.gang->job).varint(lease.gang->claim);
  if (lease.used_core_ms) out.varint(*lease.used_core_ms);
  put_ids(out, lease.held);
  if (!lease.ending.empty() || !lease.actions.empty()) put_ids(out, lease.ending);
  if (!lease.actions.empty()) put_ids(out, lease.actions);
  return std::move(out).bytes();
}

std::optional<Lease> decode_lease(std::string_view value) {
  Decoder in(value);
  Lease lease;
  lease.renewals = in.varint();
  lease.last_seen = in.wall_time();
  lease.finished = in.varint();
  lease.ttl = in.seconds();
  const std::uint8_t is = in.u8();
  if (is > kAllBits) return std::nullopt;
  lease.barred = (is & kBarred) != 0;
  lease.has_bell = (is & kHasBell) != 0;
  lease.idle = (is & kIdle) != 0;
  lease.reserved = (is & kReserved) != 0;
  if (lease.idle && !lease.has_bell) return std::nullopt;
  if ((is & (kInGang | kReserved)) != 0 && (is & kListed) == 0) return std::nullopt;
  if ((is & kListed) != 0) {
    lease.node.emplace();
    lease.node->group = in.be64();
    lease.node->free_at = in.varint();
  }
  if ((is & kInGang) != 0) {
    lease.gang.emplace();
    lease.gang->job = in.varint();
    lease.gang->claim = in.varint();
  }
  if ((is & kCounts) != 0) lease.used_core_ms = in.varint();
  if (!take_ids(in, kMaxJobs, lease.held)) return std::nullopt;
  if (!in.at_end() && !take_ids(in, kMaxJobs, lease.ending)) return std::nullopt;
  if (!in.at_end() && !take_ids(in, UINT32_MAX, lease.actions)) return std::nullopt;
  return in.whole(std::move(lease));
}

std::string encode_worker(const WorkerInfo& info, WorkerStatus status, const Lease& lease,
                          WallTime gone_at) {
  Encoder out;
  out.u8(static_cast<std::uint8_t>(status)).varint(lease.renewals);
  out.svarint(in_reach(lease.last_seen).count())
      .svarint(in_reach(gone_at).count())
      .varint(lease.finished);
  out.text(info.host).varint(info.pid).varint(info.pid_start).text(info.boot_id);
  out.text(info.pid_namespace).varint(info.above.size());
  for (const std::uint64_t pid : info.above) out.varint(pid);
  out.text(info.user).text(info.allocation).text(info.cluster);
  out.svarint(in_reach(info.allocation_start).count()).text(info.scheduler).text(info.labels);
  // Up to 127 it is the byte that it was once.
  out.varint((info.any_binding ? 1U : 0U) + (info.ignores_resources ? 2U : 0U) +
             (info.own_heartbeat_file ? 4U : 0U) + (info.bell ? 8U : 0U) +
             (info.node.empty() ? 0U : 16U) + (info.end_is_told ? 32U : 0U) +
             (info.node_timeout.count() > 0 ? 64U : 0U) + (info.group.empty() ? 0U : 128U) +
             (info.also_unlabelled ? 0U : 256U) + (info.ledger_entry == 0 ? 0U : 512U));
  if (!info.node.empty()) out.text(info.node);
  if (info.node_timeout.count() > 0) out.svarint(in_reach(info.node_timeout).count());
  if (!info.group.empty()) out.text(info.group).text(info.node_name);
  if (info.ledger_entry != 0) out.varint(info.ledger_entry);
  out.text(info.output_dir);
  out.varint(info.cpus).varint(info.gpus).varint(info.memory.value);
  out.svarint(in_reach(info.registered_at).count()).svarint(in_reach(info.ends_at).count());
  out.svarint(in_reach(info.lease_ttl).count()).svarint(in_reach(info.lease_heartbeat).count());
  out.svarint(in_reach(info.claims_from).count());
  if (info.bell) put_bell(out, *info.bell);
  if (has_later_resources(info.more)) write_later_resources(out, info.more);
  return std::move(out).bytes();
}

std::optional<Worker> decode_worker(std::string_view value) {
  Decoder in(value);
  Worker w;
  const std::uint8_t status = in.u8();
  if (status > static_cast<std::uint8_t>(WorkerStatus::expired)) return std::nullopt;
  w.status = static_cast<WorkerStatus>(status);
  w.renewals = in.varint();
  w.last_seen = in.wall_time();
  w.gone_at = in.wall_time();
  w.finished = in.varint();
  WorkerInfo& info = w.info;
  info.host = in.text();
  info.pid = in.varint();
  info.pid_start = in.varint();
  info.boot_id = in.text();
  info.pid_namespace = in.text();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    info.above.push_back(in.varint());
  }
  info.user = in.text();
  info.allocation = in.text();
  info.cluster = in.text();
  info.allocation_start = in.wall_time();
  info.scheduler = in.text();
  info.labels = in.text();
  const std::uint64_t serves = in.varint();
  info.any_binding = (serves & 1U) != 0;
  info.ignores_resources = (serves & 2U) != 0;
  info.own_heartbeat_file = (serves & 4U) != 0;
  info.also_unlabelled = (serves & 256U) == 0;
  if ((serves & 16U) != 0) info.node = in.text();
  info.end_is_told = (serves & 32U) != 0;
  if ((serves & 64U) != 0) info.node_timeout = in.seconds();
  if ((serves & 128U) != 0) {
    info.group = in.text();
    info.node_name = in.text();
  }
  if ((serves & 512U) != 0) info.ledger_entry = in.u32();
  info.output_dir = in.text();
  info.cpus = in.u32();
  info.gpus = in.u32();
  info.memory.value = in.varint();
  info.registered_at = in.wall_time();
  info.ends_at = in.wall_time();
  info.lease_ttl = in.seconds();
  info.lease_heartbeat = in.seconds();
  info.claims_from = in.wall_time();
  if ((serves & 8U) != 0 && !(info.bell = take_bell(in))) return std::nullopt;
  if (!read_later_resources(in, info.more)) return std::nullopt;
  return in.whole(std::move(w));
}

}  // namespace torc::claim
