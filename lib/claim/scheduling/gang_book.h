// The gangs that one transaction reads and changes, each written once. What ends a job ends its
// gang here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lib/claim/rules/gang.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class GangBook {
 public:
  // Both outlive this.
  GangBook(Transaction& tx, State& state) : tx_(tx), state_(state) {}

  // nullptr: there is no such gang. Valid until store().
  [[nodiscard]] const Gang* find(const GangName& name);
  // The rank of a worker that is part of it and has not left.
  [[nodiscard]] std::optional<std::uint32_t> rank_in(const GangName& name, WorkerEpoch worker);

  void add(const Gang& gang);
  // The job that it is an attempt of was `before` and is `after`: a gang that started runs, one
  // whose job is no longer held is over.
  void follow(std::uint64_t id, const Job& before, const Job& after);
  // What a member says, by its rank.
  void confirm(const GangName& name, std::uint32_t rank);
  void set_port(const GangName& name, std::uint16_t port);
  void note_end(const GangName& name, std::uint32_t rank, const Outcome& outcome, bool saved);
  // The command has failed (rank 0), or the member lives after it has; else it says nothing.
  void note_life(const GangName& name, std::uint32_t rank);
  // It is no longer part of it. When nobody is, the record goes. Precondition: the gang is over.
  void leave(const GangName& name, WorkerEpoch worker);

  // Members that have to know what this transaction did.
  [[nodiscard]] const std::set<WorkerEpoch>& concerned() const { return concerned_; }
  void store();

 private:
  struct Page {
    std::optional<Gang> gang;
    bool changed = false;
  };
  Page& page(const GangName& name);
  // To be changed; nullptr: there is none.
  Gang* open(const GangName& name);
  void tell(const Gang& gang);

  Transaction& tx_;
  State& state_;
  std::map<GangName, Page> pages_;
  std::set<WorkerEpoch> concerned_;
};

}  // namespace torc::claim
