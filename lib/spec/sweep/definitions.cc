#include "lib/spec/sweep/definitions.h"

#include <limits>
#include <utility>

#include "lib/base/hash.h"
#include "lib/spec/sweep/sweep.h"

namespace torc::spec {
namespace {

// First bytes of keys. A kind of files adds its own letter to the last four.
constexpr char kResources = 'r';
constexpr char kScheduler = 's';
constexpr char kHandler = 'h';
constexpr char kParameter = 'p';
constexpr char kVariable = 'v';
constexpr char kSingle = '1';
constexpr char kSweep = '2';
constexpr char kMade = '3';
constexpr char kNext = '4';

// Of a workflow's shared parameters: they have one at most, and additions number their own by
// their places in a file, which is smaller.
constexpr std::uint32_t kSharedTable = std::numeric_limits<std::uint32_t>::max();

// Stable, since it is stored: FNV-1a, twice from different beginnings.
void put_hash(Encoder& out, std::string_view name) {
  for (const std::uint64_t h : {kFnvBegin, std::uint64_t{0x6c62272e07bb0142}}) {
    const std::uint64_t hash = fnv1a(name, h);
    out.be64(hash ^ (hash >> 29));
  }
}

std::string key_of(char kind, std::string_view name) {
  Encoder key(kind);
  put_hash(key, name);
  return std::move(key).bytes();
}

std::string prefix_of(char what, Kept kind) {
  return {what, static_cast<char>(kind)};
}

std::string numbered(char what, Kept kind, std::uint64_t number) {
  return prefix_of(what, kind) + Encoder().be64(number).bytes();
}

std::string single_prefix(Kept kind, std::string_view name) {
  Encoder key;
  put_hash(key, name);
  return prefix_of(kSingle, kind) + key.bytes();
}

template <class T, class Read>
std::vector<T> read_all(const Definitions& known, char kind, const Read& read) {
  std::vector<T> all;
  known.each_definition(std::string_view(&kind, 1), [&](const Definition& d) {
    Decoder in(d.value);
    T one = read(in);
    if (in.ok()) all.push_back(std::move(one));
    return true;
  });
  return all;
}

std::string encode(const ResourceRequirements& r) {
  Encoder out;
  out.text(r.name);
  write_resources(out, r);
  const bool more = !r.one_of.empty();
  if (more || has_later_resources(r))
    write_later_resources(out, r, more ? Behind::more : Behind::nothing);
  if (!more) return std::move(out).bytes();
  out.varint(r.one_of.size());
  for (const Alternative& one : r.one_of) {
    Encoder needs;
    write_resources(needs, one.needs);
    if (has_later_resources(one.needs)) write_later_resources(needs, one.needs);
    out.text(needs.bytes()).varint(one.weight);
  }
  return std::move(out).bytes();
}

// False: they were not written so.
bool read_alternatives(Decoder& in, ResourceRequirements& r) {
  if (in.at_end()) return true;
  for (std::uint64_t n = in.up_to(kMostAlternatives); n > 0 && in.ok(); --n) {
    Decoder needs(in.text());
    Alternative one;
    one.needs = read_resources(needs);
    if (!read_later_resources(needs, one.needs) || !needs.is_whole()) return false;
    one.weight = in.u32();
    r.one_of.push_back(std::move(one));
  }
  return in.is_whole();
}

std::string encode(const FailureHandler& h) {
  Encoder out;
  out.text(h.name).varint(h.rules.size());
  for (const FailureRule& rule : h.rules) write_rule(out, rule);
  return std::move(out).bytes();
}

std::string encode(const Parameter& p) {
  Encoder out;
  encode(out, std::span(&p, 1), ParameterMode::product);
  return std::move(out.u8(p.table != 0 ? 1 : 0)).bytes();
}

KeptFiles decode_files(std::string_view key, std::string_view value) {
  KeptFiles files;
  files.first = Decoder(key.substr(key.size() - 8)).be64();
  Decoder in(value);
  files.entry.name = in.text();
  files.entry.path = in.text();
  DecodedSweep sweep = decode_sweep(in);
  files.entry.mode = sweep.mode;
  if (have_equal_lengths(sweep.parameters, sweep.mode))  // else it is damaged
    files.entry.parameters = std::move(sweep.parameters);
  files.offset = in.varint();
  files.count = in.varint();
  return files;
}

}  // namespace

bool same_rules(const FailureHandler& a, const FailureHandler& b) {
  return encode(a) == encode(b);
}

std::vector<Definition> definitions_of(const Workflow& workflow, const Definitions* known) {
  std::vector<Definition> all;
  const auto define = [&](char kind, const std::string& name, std::string value) {
    std::string key = key_of(kind, name);
    if (known == nullptr || !known->definition(key)) all.push_back({key, std::move(value)});
  };
  for (const ResourceRequirements& r : workflow.resource_requirements)
    define(kResources, r.name, encode(r));
  for (const FailureHandler& h : workflow.failure_handlers) define(kHandler, h.name, encode(h));
  for (const SlurmScheduler& s : workflow.slurm_schedulers) {
    define(kScheduler, s.name,
           Encoder().text(s.name).text(s.walltime).text(s.mem).text(s.gres).bytes());
  }
  // An addition's own are gone with it.
  if (known != nullptr) return all;
  for (const Parameter& p : workflow.shared_parameters) define(kParameter, p.name, encode(p));
  for (const auto& [name, text] : workflow.variables)
    define(kVariable, name, Encoder().text(name).text(text).bytes());
  return all;
}

std::vector<ResourceRequirements> known_resources(const Definitions& known) {
  return read_all<ResourceRequirements>(known, kResources, [](Decoder& in) {
    ResourceRequirements r;
    r.name = in.text();
    static_cast<Resources&>(r) = read_resources(in);
    if (!read_later_resources(in, r) || !read_alternatives(in, r)) {  // a damaged store
      r.named.clear();
      r.locality = Locality::preferred;
      r.one_of.clear();
    }
    return r;
  });
}

std::vector<SlurmScheduler> known_schedulers(const Definitions& known) {
  return read_all<SlurmScheduler>(known, kScheduler, [](Decoder& in) {
    SlurmScheduler s;
    s.name = in.text();
    s.walltime = in.text();
    s.mem = in.text();
    s.gres = in.text();
    return s;
  });
}

std::vector<FailureHandler> known_failure_handlers(const Definitions& known) {
  return read_all<FailureHandler>(known, kHandler, [](Decoder& in) {
    FailureHandler h;
    h.name = in.text();
    const std::uint64_t rules = in.varint();
    for (std::uint64_t i = 0; i < rules; ++i) {
      std::optional<RetryRule> rule = read_rule(in);
      if (!rule) break;
      h.rules.push_back({*std::move(rule), {}});
    }
    return h;
  });
}

std::vector<Parameter> known_parameters(const Definitions& known) {
  return read_all<Parameter>(known, kParameter, [](Decoder& in) {
    DecodedSweep sweep = decode_sweep(in);
    Parameter p = sweep.parameters.empty() ? Parameter{} : std::move(sweep.parameters.front());
    p.table = in.u8() != 0 ? kSharedTable : 0;
    return p;
  });
}

Environment known_variables(const Definitions& known) {
  return read_all<Environment::value_type>(known, kVariable, [](Decoder& in) {
    std::string name(in.text());
    return Environment::value_type(std::move(name), in.text());
  });
}

Definition define(Kept kind, const KeptFiles& files) {
  Encoder out;
  out.text(files.entry.name).text(files.entry.path);
  encode(out, files.entry.parameters, files.entry.mode);
  out.varint(files.offset).varint(files.count);
  std::string key = files.entry.parameters.empty() ? single_prefix(kind, files.entry.name) +
                                                         Encoder().be64(files.first).bytes()
                                                   : numbered(kSweep, kind, files.first);
  return {std::move(key), std::move(out).bytes()};
}

std::uint64_t next_number(const Definitions& known, Kept kind) {
  const auto value = known.definition(prefix_of(kNext, kind));
  return value ? Decoder(*value).varint() : 1;
}

Definition define_next(Kept kind, std::uint64_t number) {
  return {prefix_of(kNext, kind), Encoder().varint(number).bytes()};
}

std::optional<KeptFiles> read_single(const Definitions& known, Kept kind, std::string_view name) {
  std::optional<KeptFiles> found;
  known.each_definition(single_prefix(kind, name), [&](const Definition& d) {
    KeptFiles files = decode_files(d.key, d.value);
    if (files.entry.name == name) found = std::move(files);
    return !found;
  });
  return found;
}

std::vector<KeptFiles> read_sweeps(const Definitions& known, Kept kind) {
  std::vector<KeptFiles> all;
  known.each_definition(prefix_of(kSweep, kind), [&](const Definition& d) {
    all.push_back(decode_files(d.key, d.value));
    return true;
  });
  return all;
}

void each_single(const Definitions& known, Kept kind,
                 const std::function<bool(const KeptFiles&)>& visit) {
  known.each_definition(prefix_of(kSingle, kind),
                        [&](const Definition& d) { return visit(decode_files(d.key, d.value)); });
}

void append(std::vector<Made>& runs, std::uint64_t file, std::uint64_t job) {
  if (!runs.empty() && runs.back().first + runs.back().count == file) {
    Made& run = runs.back();
    if (run.count == 1) run.step = job - run.job;
    if (run.job + run.count * run.step == job) {
      ++run.count;
      return;
    }
  }
  runs.push_back({file, 1, job, 0});
}

Definition define(Kept kind, const Made& run) {
  return {numbered(kMade, kind, run.first),
          Encoder().varint(run.count).varint(run.job).varint(run.step).bytes()};
}

std::uint64_t maker_of(const Definitions& known, Kept kind, std::uint64_t file) {
  const auto d = known.definition_up_to(prefix_of(kMade, kind), numbered(kMade, kind, file));
  if (!d) return 0;
  const std::uint64_t n = file - Decoder(std::string_view(d->key).substr(2)).be64();
  Decoder in(d->value);
  const std::uint64_t count = in.varint();
  const std::uint64_t job = in.varint();
  const std::uint64_t step = in.varint();
  return n < count ? job + n * step : 0;
}

}  // namespace torc::spec
