// Where a store of engine `journal` lies as its process sees it now, and what follows from the
// mount there: whether it is the store at all, what a listing is worth, and how long files must
// have been superfluous before they go.
//
// It owns what is known of the place and of the store's identity; it opens nothing and has no
// state of the workflow. What a new look finds is a value: whoever keeps something that was learnt
// at the old place forgets it before the look is accepted. For one thread at a time, as a Store is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/store/engine/engines.h"
#include "lib/store/engine/meta.h"
#include "lib/store/engine/store.h"

namespace torc::store {

class Location {
 public:
  // What is there after something was mounted or unmounted.
  struct Look {
    Meta meta;
    std::uint64_t mount_changes = 0;  // of the disk, before it was taken
  };

  // `world` outlives this; `meta` is what read_meta() answered. `told`: a retention that counts
  // instead of all that hosts ask for.
  Location(const World& world, Path directory, const Meta& meta,
           std::optional<std::chrono::nanoseconds> told);

  // Asks no filesystem, and answers nullopt, unless something was mounted or unmounted since the
  // last look that was accepted. Errors: fenced (the store is gone, or another has its name), io
  // (it cannot be seen now).
  [[nodiscard]] Result<std::optional<Look>> look() const;
  // Another copy of the state belongs to it, and what was seen of files says nothing of these.
  [[nodiscard]] bool is_elsewhere(const Look& look) const {
    return look.meta.place.key != place_.key;
  }
  // From now on this is the place. After an Error it is, too, and the next look() looks again: what
  // this mount needs could not be asked of the others.
  Result<void> accept(const Look& look);
  // Something was mounted or unmounted since the look that was accepted.
  [[nodiscard]] bool mounts_changed() const {
    return world_.disk.mount_changes() != mount_changes_;
  }

  // See engines.h.
  [[nodiscard]] Result<void> check_still_there() const;
  // Before the first write: a copy gets an instance of its own. An Error leaves it a copy.
  Result<void> adopt_if_copied();

  // Another host may need more retention by now. It never becomes less, as what was agreed does
  // not. One listing. After an Error it is what it was.
  Result<void> read_retention();
  [[nodiscard]] std::chrono::nanoseconds retention() const { return told_.value_or(retention_); }

  [[nodiscard]] Learning learning() const { return place_.facts.learning; }
  // A listing shows what is there, also to who cannot make anything beside it.
  [[nodiscard]] bool listings_are_current() const {
    return place_.facts.listing_age == std::chrono::nanoseconds(0);
  }
  // A name may be hidden from a listing that is made anew, until the directory changes: NFS tells a
  // directory that changed by its time, and that of two changes within a tick of the server's clock
  // is the same.
  [[nodiscard]] bool listings_may_hide() const { return place_.facts.kind == MountKind::nfs; }
  // No file is missing that was listed, but a snapshot tells of commits that no listing shows.
  [[nodiscard]] Error lagging() const;

  [[nodiscard]] const Path& directory() const { return directory_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] const Path& state() const { return state_; }  // the state directory
  // Place::key: names the node's copy of it.
  [[nodiscard]] const std::string& key() const { return place_.key; }

 private:
  const World& world_;
  Path directory_;
  Identity identity_;
  Path state_;
  std::optional<std::chrono::nanoseconds> told_;
  Place place_;
  std::uint64_t mount_changes_;           // before place_ was looked at
  bool copied_;                           // a copy that has no instance of its own yet
  std::chrono::seconds least_retention_;  // of META
  std::chrono::nanoseconds retention_;
};

}  // namespace torc::store
