#include "lib/claim/rules/worker.h"

namespace torc::claim {

std::string_view to_string(WorkerStatus status) {
  switch (status) {
    case WorkerStatus::registered:
      return "registered";
    case WorkerStatus::released:
      return "released";
    case WorkerStatus::expired:
      return "expired";
  }
  return "?";
}

}  // namespace torc::claim
