#include "lib/store/testing/test_fault_case.h"

#include <cstring>

namespace torc::store::testing {
namespace {

constexpr int kErrors[] = {EIO,    ENOSPC,    EDQUOT, EROFS,  ESTALE, EACCES,
                           EMFILE, ETIMEDOUT, EINTR,  ENOLCK, ENOSYS};

std::string name_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::refuse:
      return "fails";
    case Fault::Kind::refuse_on:
      return "and all after it fail";
    case Fault::Kind::lose_reply:
      return "happens, but is said to fail";
    case Fault::Kind::short_write:
      return "writes the half and says nothing";
    case Fault::Kind::crash_before:
      return "is not reached";
    case Fault::Kind::crash_after:
      return "is the last of the process";
    case Fault::Kind::power_cut_before:
      return "is not reached before the power is cut";
    case Fault::Kind::power_cut_after:
      return "is the last before the power is cut";
    case Fault::Kind::power_cut_keeping_names:
      return "is the last before the power is cut, names survive";
  }
  return "?";
}

}  // namespace

Fate Fault::fate(bool now) const {
  switch (kind) {
    case Kind::refuse:
      return now ? refuse(os_errno) : proceed();
    case Kind::refuse_on:
      return refuse(os_errno);
    case Kind::lose_reply:
      return now ? lose_reply(os_errno) : proceed();
    case Kind::short_write:
      return now ? pretend() : proceed();
    case Kind::crash_before:
    case Kind::power_cut_before:
      return dead();
    case Kind::crash_after:
    case Kind::power_cut_after:
    case Kind::power_cut_keeping_names:
      return now ? lose_reply(EIO) : dead();
  }
  return proceed();
}

std::string Fault::text() const {
  return name_of(kind) + (os_errno == 0 ? "" : std::string(" with ") + strerrorname_np(os_errno));
}

std::vector<Fault> faults_on(const std::string& operation, bool last) {
  const bool only_asks = operation == "open_read" || operation == "read" || operation == "list" ||
                         operation == "status" || operation == "filesystem";
  std::vector<Fault> out;
  for (const int e : kErrors) {
    out.push_back({Fault::Kind::refuse, e});
    if (!only_asks) out.push_back({Fault::Kind::lose_reply, e});
    if (e == EIO || e == ENOSPC || e == ESTALE || e == ENOSYS)
      out.push_back({Fault::Kind::refuse_on, e});
  }
  if (operation == "write") out.push_back({Fault::Kind::short_write, 0});
  out.push_back({Fault::Kind::crash_before, 0});
  out.push_back({Fault::Kind::power_cut_before, 0});
  if (last) {
    out.push_back({Fault::Kind::crash_after, 0});
    out.push_back({Fault::Kind::power_cut_after, 0});
  }
  if (last || !only_asks) out.push_back({Fault::Kind::power_cut_keeping_names, 0});
  return out;
}

FaultCase::FaultCase(const Prepared& from, const Path& scratch)
    : server_(from.server),
      abilities_(from.abilities),
      memory_(server_, from.abilities),
      healthy_(server_, from.abilities),
      faulty_(&memory_),
      scratch_(scratch),
      first_(scratch, "first", 1, &faulty_),
      acknowledged_(from.acknowledged) {
  tuning = quick();
  tuning.sync = true;  // so that the syncs are there to fail
  tuning.checkpoint_commits = 40;
  tuning.retention = std::chrono::nanoseconds(0);
  (void)healthy_.make_directory("/shared");
  (void)healthy_.sync_directory("/");
  tags_ = static_cast<int>(acknowledged_.size());
}

Prepared FaultCase::keep() const {
  return {abilities_, server_, acknowledged_};
}

void FaultCase::move_on(const Prepared& later) {
  server_ = later.server;
  acknowledged_ = later.acknowledged;
  tags_ = static_cast<int>(acknowledged_.size());
}

// Two keys, so that one that is there by half shows.
Store::Body FaultCase::transition(const std::string& tag) {
  return [tag](Transaction& tx) -> Result<void> {
    tx.put("a" + tag, std::to_string(tx.sequence()));
    tx.put("b" + tag, std::to_string(tx.sequence()));
    return {};
  };
}

Result<void> FaultCase::commit() {
  const std::string tag = std::to_string(++tags_);
  const Result<Commit> done = store_->commit(1, transition(tag));
  if (done.ok()) acknowledged_[tag] = done->sequence;
  if (done.ok()) return {};
  if (done.error().kind != ErrorKind::unknown) refused_.insert(tag);
  return done.error();
}

Result<void> FaultCase::open() {
  TORC_ASSIGN(store_, Store::open(first_.world(), directory(), tuning));
  return {};
}

Result<void> FaultCase::create() {
  const std::string tag = std::to_string(++tags_);
  Result<std::unique_ptr<Store>> made =
      Store::create(first_.world(), directory(), Engine::journal, tuning, transition(tag),
                    {{"spec.yaml", "name: x"}, {"slurm/a.sbatch", "#!"}});
  if (!made.ok()) return std::move(made).error();
  store_ = std::move(*made);
  acknowledged_[tag] = 1;
  return {};
}

void FaultCase::others_work(int count) {
  if (!colleague_) colleague_ = std::make_unique<Node>(scratch_, "colleague", 2, &healthy_);
  for (int i = 0; i < count; ++i) {
    if (!colleagues_store_) {
      auto opened = Store::open(colleague_->world(), directory(), tuning);
      if (!opened.ok()) return;  // the checks tell
      colleagues_store_ = std::move(*opened);
    }
    const std::string tag = std::to_string(++tags_);
    const Result<Commit> done = colleagues_store_->commit(2, transition(tag));
    if (done.ok()) acknowledged_[tag] = done->sequence;
    (void)colleagues_store_->maintain();
  }
}

void FaultCase::strike(const FaultyDisk::Oracle& always, std::uint64_t nth, const Fault& fault) {
  auto count = std::make_shared<std::uint64_t>(0);
  faulty_.oracle = [=, this](const std::string& name, const Path& path) {
    const std::uint64_t at = (*count)++;
    if (at <= nth) operations_.push_back({name, path});
    const Fate needed = always ? always(name, path) : proceed();
    if (at < nth || (at == nth && needed.what != Fate::What::proceed)) return needed;
    const Fate fate = fault.fate(at == nth);
    return fate.what == Fate::What::proceed ? needed : fate;
  };
}

void FaultCase::only_note(const FaultyDisk::Oracle& always) {
  faulty_.oracle = [=, this](const std::string& name, const Path& path) {
    operations_.push_back({name, path});
    return always ? always(name, path) : proceed();
  };
}

void FaultCase::heal() {
  faulty_.oracle = [](const std::string&, const Path&) { return proceed(); };
}

void FaultCase::end_process(const Fault& fault) {
  store_.reset();  // its last operations fail: it is gone
  heal();
  if (fault.kind == Fault::Kind::power_cut_before || fault.kind == Fault::Kind::power_cut_after)
    server_.power_cut(FileServer::KeepNames::no);
  if (fault.kind == Fault::Kind::power_cut_keeping_names)
    server_.power_cut(FileServer::KeepNames::yes);
}

std::string FaultCase::check_state(const Reader& reader) {
  for (int i = 1; i <= tags_; ++i) {
    const std::string tag = std::to_string(i);
    const auto a = reader.get("a" + tag);
    const auto b = reader.get("b" + tag);
    if (a != b) return "transition " + tag + " is there by half";
    const auto told = acknowledged_.find(tag);
    if (told != acknowledged_.end() && (!a || *a != std::to_string(told->second)))
      return "transition " + tag + " was acknowledged and is not there as such";
    if (refused_.contains(tag) && a) return "transition " + tag + " was refused and is there";
  }
  return {};
}

std::string FaultCase::check_by_another_host(const Fault& fault) {
  Node inspector(scratch_, "inspector", 99, &healthy_);
  std::string wrong;
  const Result<Verified> verified =
      verify(inspector.world(), directory(), [&](const Reader& reader) -> Result<void> {
        wrong = check_state(reader);
        return {};
      });
  if (!wrong.empty() || verified.ok()) return wrong;
  const Error& error = verified.error();
  // A disk that lied: the error must lead to what is wrong.
  const bool named = error.kind == ErrorKind::corrupt &&
                     error.what.find(directory().string() + "/") != std::string::npos;
  return fault.lies() && named ? "" : "verify: " + error.text();
}

// The process goes on, or another in its place.
std::string FaultCase::check_going_on() {
  if (!store_) {
    if (Result<void> opened = open(); !opened.ok()) return "open: " + opened.error().text();
  }
  if (Result<void> done = commit(); !done.ok()) return "the next commit: " + done.error().text();
  if (Result<void> done = store_->maintain(); !done.ok())
    return "the next maintenance: " + done.error().text();
  return {};
}

std::string FaultCase::check(const Fault& fault, Then then) {
  if (fault.ends_process()) end_process(fault);
  heal();
  first_.clock.advance(std::chrono::seconds(1));
  std::string wrong = check_going_on();
  if (fault.lies()) wrong.clear();  // it may stop there, with an error
  store_.reset();
  if (wrong.empty() && memory_.open_handles() > 0) wrong = "a file was left open";
  if (wrong.empty() && memory_.misused_handles() > 0) wrong = "a file was used after its close";
  // What was acknowledged in spite of the fault and after it is durable too.
  if (!fault.lies() && then == Then::cut_power) server_.power_cut(FileServer::KeepNames::no);
  return wrong.empty() ? check_by_another_host(fault) : wrong;
}

std::string FaultCase::check_created(const Fault& fault, const Result<void>& told) {
  if (fault.ends_process()) end_process(fault);
  heal();
  if (healthy_.status(directory()).ok()) {
    for (const char* file : {"spec.yaml", "slurm/a.sbatch"}) {
      if (!healthy_.status(directory() / file).ok()) return std::string(file) + " is missing";
    }
    // Who was told that making it failed knows nothing of its name in the directory above.
    return check(fault, told.ok() ? Then::cut_power : Then::look);
  }
  if (told.ok() && !fault.ends_process()) return "told, and not there";
  store_.reset();
  acknowledged_.clear();
  if (Result<void> again = create(); !again.ok()) return "again: " + again.error().text();
  return check(fault);
}

}  // namespace torc::store::testing
