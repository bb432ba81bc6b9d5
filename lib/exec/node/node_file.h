// The file of the node ledger: found or made, checked, mapped, locked. Internal to node_ledger.cc.
#pragma once

#include <filesystem>
#include <memory>

#include "lib/base/file/descriptor.h"
#include "lib/base/file/shared_mapping.h"
#include "lib/base/result.h"
#include "lib/exec/node/node_table.h"

namespace torc::exec {

class NodeFile final : public WordMemory {
 public:
  enum class Missing : std::uint8_t { make, fail };
  // Of the first root that can be used. Error not_found: there is none, and none was to be made.
  static Result<std::unique_ptr<NodeFile>> open(const NodePlace& place, Missing missing);
  ~NodeFile() override = default;
  NodeFile(const NodeFile&) = delete;
  NodeFile& operator=(const NodeFile&) = delete;

  [[nodiscard]] std::uint64_t load(std::size_t word) const override;
  void store(std::size_t word, std::uint64_t value) override;
  bool reserve(std::size_t first, std::size_t words) override;

  // At most some milliseconds; false: somebody (a stopped process) keeps it.
  [[nodiscard]] bool lock();
  void unlock();
  // Whether others still find this file by its name.
  [[nodiscard]] bool is_named() const;
  // Whether it is the same file, opened twice.
  [[nodiscard]] bool is_same(const NodeFile& other) const;
  // Whether they look for it in this directory. What cannot be told counts as yes.
  [[nodiscard]] bool is_where_others_look() const;
  // Whether somebody made it shorter: what was read since may be zeros, and nothing that was
  // written need be there for others.
  [[nodiscard]] bool lost() const { return mapping_.lost(); }
  void remove();  // its name; with the lock
  // Tells those who watch the file.
  void ring();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  NodeFile(std::filesystem::path path, Descriptor file, Descriptor directory,
           SharedMapping mapping);
  static Result<std::unique_ptr<NodeFile>> open_in(const std::filesystem::path& root,
                                                   const std::string& name, Missing missing);
  static Result<std::unique_ptr<NodeFile>> map(std::filesystem::path path, Descriptor file,
                                               Descriptor directory, Missing missing);

  std::filesystem::path path_;
  Descriptor file_;
  Descriptor directory_;
  SharedMapping mapping_;
};

}  // namespace torc::exec
