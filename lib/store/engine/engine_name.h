// What people, files and programs call an engine.
#pragma once

#include <string_view>

#include "lib/store/engine/store.h"

namespace torc::store {

[[nodiscard]] constexpr std::string_view to_string(Engine engine) {
  return engine == Engine::lmdb ? "lmdb" : engine == Engine::journal ? "journal" : "auto";
}

}  // namespace torc::store
