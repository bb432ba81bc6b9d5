// One run of a scene with one fault: a store on files in memory, a host that acts, and what it was
// told. Afterwards the promises of store.h are checked by another host on a healthy disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_memory_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store::testing {

// What happens at one operation, and afterwards.
struct Fault {
  enum class Kind : std::uint8_t {
    refuse,        // this operation fails
    refuse_on,     // this one and all after it fail
    lose_reply,    // it happens, and an error is told
    short_write,   // half of a write happens, success is told: a disk that lies
    crash_before,  // the process is gone
    crash_after,
    power_cut_before,  // the whole machine is, with everything that was not durable
    power_cut_after,
    power_cut_keeping_names  // all names survive, of the data only what was synced
  } kind = Kind::refuse;
  int os_errno = 0;
  [[nodiscard]] bool ends_process() const { return kind >= Kind::crash_before; }
  [[nodiscard]] bool lies() const { return kind == Kind::short_write; }
  // Of the operation that it falls on (`now`), or of a later one.
  [[nodiscard]] Fate fate(bool now) const;
  [[nodiscard]] std::string text() const;
};
// All that make a difference on this operation. Its reply can be lost only if it changes something;
// the end of the process after it is the end before the next one.
[[nodiscard]] std::vector<Fault> faults_on(const std::string& operation, bool last);

struct Operation {
  std::string name;
  Path path;
};

// A store as others left it, to be copied for each case.
struct Prepared {
  Abilities abilities;
  FileServer server;
  std::map<std::string, std::uint64_t> acknowledged;  // tag of each transition, its number
};

class FaultCase {
 public:
  FaultCase(const Prepared& from, const Path& scratch);

  // Who acts, and a colleague on another host with a healthy disk.
  Node& first() { return first_; }
  std::unique_ptr<Store>& store() { return store_; }
  [[nodiscard]] Path directory() const { return "/shared/wf.torc"; }

  // Commits a transition of a new tag with the store of `first`, and keeps what was told.
  Result<void> commit();
  Result<void> open();
  Result<void> create();
  // `count` commits by the colleague, with the maintenance: snapshots and collection at once.
  void others_work(int count);
  [[nodiscard]] Prepared keep() const;
  // Lets the files become what they became in another case that began the same way.
  void move_on(const Prepared& later);

  // From now on: each operation is noted, and the fault strikes at operation number `nth`.
  // `always` is asked first, for what a scene needs.
  void strike(const FaultyDisk::Oracle& always, std::uint64_t nth, const Fault& fault);
  void only_note(const FaultyDisk::Oracle& always);
  void heal();
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }

  // What must hold after the fault, also if the power is cut a little later; empty: all of it.
  enum class Then : std::uint8_t { cut_power, look };
  [[nodiscard]] std::string check(const Fault& fault, Then then = Then::cut_power);
  // After a fault on create: nothing under the name, or all of it.
  [[nodiscard]] std::string check_created(const Fault& fault, const Result<void>& told);

  Tuning tuning;

 private:
  Store::Body transition(const std::string& tag);
  void end_process(const Fault& fault);
  [[nodiscard]] std::string check_state(const Reader& reader);
  [[nodiscard]] std::string check_by_another_host(const Fault& fault);
  [[nodiscard]] std::string check_going_on();

  FileServer server_;
  Abilities abilities_;
  MemoryDisk memory_;
  MemoryDisk healthy_;
  FaultyDisk faulty_;
  Path scratch_;
  Node first_;
  std::unique_ptr<Node> colleague_;
  std::unique_ptr<Store> colleagues_store_;
  std::unique_ptr<Store> store_;
  std::map<std::string, std::uint64_t> acknowledged_;
  std::set<std::string> refused_;
  std::vector<Operation> operations_;
  int tags_ = 0;
};

}  // namespace torc::store::testing
