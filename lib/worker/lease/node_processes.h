// The processes of this node, as who keeps a lease looks at those of its neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/exec/end/kill_tree.h"
#include "lib/exec/machine/machine.h"

namespace torc::worker {

class NodeProcesses {
 public:
  virtual ~NodeProcesses() = default;
  // A descriptor that becomes readable when the process has ended (pidfd); the caller closes it.
  // -1: not to be had, or needed for something else, which says nothing of the process.
  virtual int watch(std::uint64_t pid) = 0;
  virtual void close(int fd) = 0;
  virtual exec::Presence presence_of(const exec::ProcessIdentity& process) = 0;
  // See exec::kill_tagged().
  virtual exec::Leftovers kill_tagged(const std::vector<std::string>& tags,
                                      const exec::Origin& origin) = 0;
};

// The real ones.
class SystemProcesses final : public NodeProcesses {
 public:
  int watch(std::uint64_t pid) override;
  void close(int fd) override;
  exec::Presence presence_of(const exec::ProcessIdentity& process) override;
  exec::Leftovers kill_tagged(const std::vector<std::string>& tags,
                              const exec::Origin& origin) override;
};

}  // namespace torc::worker
