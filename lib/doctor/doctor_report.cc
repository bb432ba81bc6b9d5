#include "lib/doctor/doctor_report.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/store/engine/engine_name.h"

namespace torc::doctor {
namespace {

using nlohmann::ordered_json;
using std::chrono::nanoseconds;
using store::Latency;
using store::LockOutcome;

std::string show(nanoseconds t) {
  return show_duration(std::chrono::duration_cast<std::chrono::microseconds>(t));
}

std::string_view sharing_name(store::Sharing sharing) {
  return sharing == store::Sharing::local     ? "local"
         : sharing == store::Sharing::scratch ? "scratch"
                                              : "shared";
}

ordered_json lock_json(const LockOutcome& lock) {
  return {{"lock", to_string(lock.kind)},
          {"result", json_word(to_string(lock.verdict))},
          {"errno", json_or_null(lock.os_errno)}};
}

std::string show_lock(const LockOutcome& lock) {
  switch (lock.verdict) {
    case store::LockVerdict::exclusive:
      return "exclusive";
    case store::LockVerdict::given_to_all:
      return "GIVEN TO ALL";
    case store::LockVerdict::fails:
      return std::string("refused (") + std::strerror(lock.os_errno) + ")";
    case store::LockVerdict::stuck:
      return "NEVER FREE AGAIN";
  }
  return "?";
}

ordered_json early_json(const EarlyNames& early) {
  return {{"files", early.names},
          {"never_seen", early.never_seen},
          {"max_seconds", json_seconds(early.longest)}};
}

ordered_json bell_json(const BellTrial& trial) {
  const auto side = [](const BellSide& s, const BellSide& other) -> ordered_json {
    return {{"addresses", s.addresses},
            {"passage", json_word(to_string(passage_to(s, other)))},
            {"heard", s.heard},
            {"reason", json_or_null(s.refusal)}};
  };
  return {{"rung", trial.rung}, {"a", side(trial.a, trial.b)}, {"b", side(trial.b, trial.a)}};
}

ordered_json two_node_json(const TwoNodeReport& r) {
  const auto card = [](const NodeCard& c) -> ordered_json {
    return {{"host", c.host}, {"pid", c.pid}, {"mount", c.filesystem}};
  };
  ordered_json locks = ordered_json::array();
  for (const PairLock& lock : r.locks) {
    locks.push_back({{"lock", to_string(lock.kind)},
                     {"held_by_a", json_word(to_string(lock.from_a.verdict))},
                     {"held_by_b", json_word(to_string(lock.from_b.verdict))}});
  }
  return {{"role", r.role == 'A' ? "a" : "b"},
          {"self", card(r.self)},
          {"other", card(r.other)},
          {"same_host", r.same_host},
          {"locks", std::move(locks)},
          {"put_if_absent_race",
           {{"files", r.race.names},
            {"won_by_a", r.race.won_by_a},
            {"won_by_b", r.race.won_by_b},
            {"won_by_both", r.race.won_by_both},
            {"won_by_none", r.race.won_by_none},
            {"overlapping", r.race.overlapping},
            {"wrong_content", r.race.wrong_content}}},
          {"new_name_latency", to_json(r.new_name)},
          {"listing", {{"a", early_json(r.listed_a)}, {"b", early_json(r.listed_b)}}},
          {"early_lookup", {{"a", early_json(r.early_a)}, {"b", early_json(r.early_b)}}},
          {"new_content_latency", to_json(r.new_content)},
          {"new_content_in_time", r.content_in_time},
          {"shared_file_content_latency", to_json(r.shared_content)},
          {"shared_file_content_in_time", r.shared_in_time},
          {"bell", bell_json(r.bells)}};
}

ordered_json filesystem_json(const Checkup& c) {
  ordered_json out = {{"type", c.type.name},
                      {"magic", fmt::format("{:#x}", c.magic)},
                      {"sharing", sharing_name(c.type.sharing)}};
  out["mount_point"] = c.mount ? ordered_json(c.mount->point.string()) : ordered_json(nullptr);
  out["mount_type"] = c.mount ? ordered_json(c.mount->type) : ordered_json(nullptr);
  out["source"] = c.mount ? ordered_json(c.mount->source) : ordered_json(nullptr);
  out["options"] = c.mount ? ordered_json(c.mount->options) : ordered_json::array();
  return out;
}

ordered_json facts_json(const store::MountFacts& f) {
  return {{"treated_as", to_string(f.kind)},
          {"commits_are_learnt_by", json_word(to_string(f.learning))},
          {"listing_age_seconds", json_seconds(f.listing_age)},
          {"heartbeat_age_seconds", json_seconds(f.heartbeat_age)},
          {"retention_seconds", json_seconds(f.retention)},
          {"least_lease_seconds", json_or_null(f.least_lease.count())}};
}

ordered_json space_json(const Checkup& c) {
  ordered_json quotas = ordered_json::array();
  for (const Quota& q : c.quotas) {
    quotas.push_back({{"of", q.of},
                      {"used_bytes", q.used.value},
                      {"limit_bytes", json_or_null(q.limit.value)},
                      {"used_files", q.files},
                      {"limit_files", json_or_null(q.files_limit)}});
  }
  return {{"free_bytes", c.space.free.value},
          {"total_bytes", c.space.total.value},
          {"free_inodes", json_if(c.space.inodes_total > 0, c.space.inodes_free)},
          {"total_inodes", json_or_null(c.space.inodes_total)},
          {"quotas", std::move(quotas)}};
}

class Text {
 public:
  explicit Text(const Diagnosis& diagnosis) : d_(diagnosis), c_(diagnosis.checkup) {}

  std::string run() {
    line("directory", c_.directory.string());
    if (!d_.store.empty()) line("store", d_.store);
    filesystem();
    line("put-if-absent",
         c_.publish ? fmt::format("{}; a second attempt is refused; names are made durable by {}",
                                  to_string(c_.publish->primitive), durable())
                    : "NONE WORKS: " + c_.publish_error.what);
    line("engine", fmt::format("auto takes {}: {}", to_string(c_.engine), engine_reason(c_.type)));
    facts();
    locks();
    latencies();
    clock();
    space();
    node();
    if (d_.two_node) two_nodes(*d_.two_node);
    findings();
    return std::move(out_);
  }

 private:
  void line(std::string_view name, const std::string& text) {
    out_ += fmt::format("{:<14} {}\n", name, text);
  }

  std::string durable() const {
    switch (c_.publish->name) {
      case store::DurableName::file:
        return "fsync of the file";
      case store::DurableName::directory:
        return "fsync of the directory";
      case store::DurableName::server:
        return "the server";
    }
    return "?";
  }

  void filesystem() {
    std::string text = fmt::format("{} ({})", c_.type.name, sharing_name(c_.type.sharing));
    if (c_.mount) {
      text +=
          fmt::format("; {} on {}, {}", c_.mount->source, c_.mount->point.string(), c_.mount->type);
      std::string options;
      for (const std::string& o : c_.mount->options) options += (options.empty() ? "" : ",") + o;
      line("filesystem", text);
      line("mount options", options);
    } else {
      line("filesystem", text);
    }
  }

  // What torc goes by here without having tried it.
  void facts() {
    const store::MountFacts& f = c_.facts;
    const auto learnt = [&] {
      switch (f.learning) {
        case store::Learning::listing:
          return "a listing";
        case store::Learning::next_number:
          return "opening the next number";
        case store::Learning::both:
          return "a listing and by opening the next number";
      }
      return "?";
    };
    line("taken as",
         fmt::format("{}: commits of others are learnt by {}", to_string(f.kind), learnt()));
    line("",
         fmt::format("a listing may be {} old, a heartbeat {}; what was collected is kept for {}",
                     show(f.listing_age), show(f.heartbeat_age), show(f.retention)));
    if (f.least_lease.count() > 0)
      line("", fmt::format("leases of {} or more: {}", show(f.least_lease), f.lease_why));
  }

  void locks() {
    std::string text;
    for (const LockOutcome& lock : c_.locks)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(lock.kind), show_lock(lock));
    line("locks", text + "  (two processes of this node; of other nodes this says nothing)");
  }

  void latencies() {
    line("latency", "");
    line("  fsync", show_latency(c_.sync));
    if (c_.link.samples > 0) line("  link", show_latency(c_.link));
    line("  list", show_latency(c_.list));
    line("  commit", show_latency(c_.publication));
  }

  void clock() {
    if (!c_.clock) return;
    const nanoseconds off = c_.clock->mtime_ahead;
    line("clock", fmt::format("{}; torc compares no clocks and believes no time stamp",
                              off == nanoseconds(0)
                                  ? std::string("file times agree with this node's clock")
                                  : fmt::format("file times are {} {} this node's clock",
                                                show(off < nanoseconds(0) ? -off : off),
                                                off < nanoseconds(0) ? "behind" : "ahead of")));
  }

  void space() {
    std::string text =
        fmt::format("{} of {} free", show_bytes(c_.space.free), show_bytes(c_.space.total));
    if (c_.space.inodes_total > 0)
      text += fmt::format(", {} more files", show_count(c_.space.inodes_free));
    line("space", text);
    if (c_.quotas.empty()) line("quota", "none told (many network filesystems do not tell)");
    for (const Quota& q : c_.quotas) {
      line("quota",
           fmt::format("{}: {} used of {}, {} files of {}", q.of, show_bytes(q.used),
                       q.limit.value == 0 ? "no limit" : show_bytes(q.limit), show_count(q.files),
                       q.files_limit == 0 ? "no limit" : show_count(q.files_limit)));
    }
  }

  void node() {
    for (const ReplicaPlace& place : c_.replicas) {
      line("node's copy",
           place.refusal
               ? fmt::format("not in {}: {}", place.root.string(), place.refusal->what)
               : fmt::format("in {} ({} free)", place.root.string(), show_bytes(place.free)));
    }
    std::string limits;
    for (const Limit& limit : c_.limits) {
      limits += fmt::format("{}{} {}", limits.empty() ? "" : ", ", limit.name,
                            limit.value ? show_count(*limit.value) : "unlimited");
    }
    line("limits", limits);
  }

  void two_nodes(const TwoNodeReport& r) {
    const NodeCard& a = r.role == 'A' ? r.self : r.other;
    const NodeCard& b = r.role == 'A' ? r.other : r.self;
    out_ += fmt::format("\nbetween A = {} (pid {}) and B = {} (pid {}); this is {}\n", a.host,
                        a.pid, b.host, b.pid, r.role);
    for (const PairLock& lock : r.locks) {
      line(fmt::format("  {}", to_string(lock.kind)),
           fmt::format("held by A: {}; held by B: {}", show_lock(lock.from_a),
                       show_lock(lock.from_b)));
    }
    line("  put-if-absent",
         fmt::format(
             "{} names raced, {} of them in rounds that overlapped: A won {}, B won {}, both "
             "{}, none {}, wrong content {}",
             r.race.names, r.race.overlapping, r.race.won_by_a, r.race.won_by_b, r.race.won_by_both,
             r.race.won_by_none, r.race.wrong_content));
    line("  new name", show_latency(r.new_name) + "  (there and back)");
    line("  listing",
         fmt::format("of a directory that it only listed, A's was up to {} old, B's {}",
                     show_early(r.listed_a), show_early(r.listed_b)));
    line("  early lookup",
         fmt::format("a name looked up before it existed was seen by A after {}, by B after {}",
                     show_early(r.early_a), show_early(r.early_b)));
    line("  new content", show_latency(r.new_content) + late(r.content_in_time));
    line("  shared file",
         show_latency(r.shared_content) + late(r.shared_in_time) + ", in a file that both write");
    line("  bell", show_bells(r.bells));
  }

  static std::string late(bool in_time) {
    return in_time ? "  (there and back)" : "  (there and back; the worst did not come in time)";
  }

  static std::string show_early(const EarlyNames& early) {
    return early.never_seen > 0
               ? fmt::format("more than 45 s ({} of {})", early.never_seen, early.names)
               : show(early.longest);
  }

  void findings() {
    out_ += '\n';
    for (const store::Finding& f : d_.findings) {
      out_ += fmt::format("{}: {}: {}\n", to_string(f.severity), f.check, f.text);
      if (!f.remedy.empty()) out_ += fmt::format("  {}\n", f.remedy);
    }
    if (!is_fit(d_.findings)) {
      out_ += "UNFIT: do not put a store here.\n";
      return;
    }
    const bool local = c_.engine == store::Engine::lmdb;
    out_ += local ? "FIT for a store that this host alone uses"
                  : "FIT for a store that workers on several nodes share";
    if (!local && !d_.two_node) out_ += ", as far as one node can tell (--two-node tells the rest)";
    if (!local && d_.two_node && d_.two_node->same_host) out_ += ", as far as one machine can tell";
    out_ += ".\n";
  }

  const Diagnosis& d_;
  const Checkup& c_;
  std::string out_;
};

}  // namespace

ordered_json to_json(const Latency& l) {
  if (l.samples == 0) return nullptr;
  return {{"samples", l.samples},
          {"p50_seconds", json_seconds(l.p50)},
          {"p90_seconds", json_seconds(l.p90)},
          {"p99_seconds", json_seconds(l.p99)},
          {"max_seconds", json_seconds(l.max)}};
}

std::string show_latency(const Latency& l) {
  if (l.samples == 0) return "not measured";
  return fmt::format("median {}, 90 % {}, 99 % {}, worst {}", show(l.p50), show(l.p90), show(l.p99),
                     show(l.max));
}

ordered_json to_json(const Diagnosis& d) {
  const Checkup& c = d.checkup;
  ordered_json locks = ordered_json::array();
  for (const LockOutcome& lock : c.locks) locks.push_back(lock_json(lock));
  ordered_json copies = ordered_json::array();
  for (const ReplicaPlace& place : c.replicas) {
    copies.push_back({{"directory", place.root.string()},
                      {"usable", !place.refusal},
                      {"reason", place.refusal ? ordered_json(place.refusal->text()) : nullptr},
                      {"free_bytes", place.free.value}});
  }
  ordered_json limits = ordered_json::object();
  for (const Limit& limit : c.limits) {
    limits[json_word(limit.name) + (limit.is_in_bytes ? "_bytes" : "")] =
        json_if(limit.value.has_value(), limit.value.value_or(0));
  }
  ordered_json findings = ordered_json::array();
  for (const store::Finding& f : d.findings) {
    findings.push_back(
        {{"severity", f.severity == store::Severity::unfit ? "error" : to_string(f.severity)},
         {"check", json_word(f.check)},
         {"message", f.text},
         {"remedy", json_or_null(f.remedy)}});
  }
  ordered_json out = {
      {"directory", c.directory.string()}, {"host", c.host},
      {"fit", is_fit(d.findings)},         {"filesystem", filesystem_json(c)},
      {"engine", to_string(c.engine)},     {"engine_reason", engine_reason(c.type)}};
  out["put_if_absent"] =
      c.publish ? ordered_json(json_word(to_string(c.publish->primitive))) : nullptr;
  out["durable_name"] = c.publish ? ordered_json(to_string(c.publish->name)) : nullptr;
  out["taken_for_granted"] = facts_json(c.facts);
  out["locks"] = std::move(locks);
  out["sync_latency"] = to_json(c.sync);
  out["link_latency"] = to_json(c.link);
  out["list_latency"] = to_json(c.list);
  out["commit_latency"] = to_json(c.publication);
  out["clock"] = c.clock ? ordered_json{{"mtime_ahead_seconds", json_seconds(c.clock->mtime_ahead)},
                                        {"stepped_seconds", json_seconds(c.clock->stepped)}}
                         : ordered_json(nullptr);
  out["space"] = space_json(c);
  out["copy_places"] = std::move(copies);
  out["process_limits"] = std::move(limits);
  out["two_node"] = d.two_node ? two_node_json(*d.two_node) : ordered_json(nullptr);
  out["findings"] = std::move(findings);
  return out;
}

std::string to_text(const Diagnosis& diagnosis) {
  return Text(diagnosis).run();
}

}  // namespace torc::doctor
