// A private, temporary LMDB environment on this node, in which a state is put together before it is
// written somewhere. Removed at the end.
#pragma once

#include <memory>

#include "lib/store/engine/store.h"
#include "lib/store/lmdb/environment.h"

namespace torc::store {

class Workbench {
 public:
  // In the first of the world's replica roots that is usable.
  static Result<Workbench> make(const World& world);
  Workbench(Workbench&& other) noexcept = default;
  Workbench& operator=(Workbench&& other) = delete;
  ~Workbench();
  [[nodiscard]] const std::shared_ptr<Environment>& environment() const { return environment_; }

 private:
  explicit Workbench(std::shared_ptr<Environment> environment)
      : environment_(std::move(environment)) {}
  std::shared_ptr<Environment> environment_;
};

}  // namespace torc::store
