#include "lib/store/testing/test_file_server.h"

#include <cerrno>
#include <utility>

namespace torc::store::testing {
namespace {

Error no(int e, const std::string& what) {
  return os_error(e, what);
}
const std::shared_ptr<const FileContent>& nothing_in_it() {
  static const auto empty = std::make_shared<const FileContent>();
  return empty;
}

}  // namespace

FileServer::FileServer(NamesLast names) : names_(names) {
  nodes_[kRoot].kind = FileKind::directory;
}

Result<const FileServer::Node*> FileServer::at(Inode inode, FileKind kind) const {
  const auto found = nodes_.find(inode);
  if (found == nodes_.end()) return no(ESTALE, "no such inode");
  if (found->second.kind != kind)
    return no(kind == FileKind::directory ? ENOTDIR : EISDIR, "of another kind");
  return &found->second;
}

Result<FileServer::Node*> FileServer::at(Inode inode, FileKind kind) {
  TORC_ASSIGN(const Node* found, std::as_const(*this).at(inode, kind));
  return const_cast<Node*>(found);
}

FileServer::Node& FileServer::changed(Inode inode) {
  Node& node = nodes_.at(inode);
  node.change = ++changes_;
  return node;
}

void FileServer::enter(Inode directory, const std::string& name, Inode inode) {
  Node& node = changed(directory);
  node.entries[name] = inode;
  ++changed(inode).links;
  if (names_ == NamesLast::at_once) node.durable_entries = node.entries;
}

void FileServer::leave(Inode directory, const std::string& name) {
  Node& node = changed(directory);
  const Inode inode = node.entries.at(name);
  node.entries.erase(name);
  if (names_ == NamesLast::at_once) node.durable_entries = node.entries;
  --changed(inode).links;
  drop_if_unused(inode);
}

// With names that last at once nothing refers to it any more; otherwise a power cut might bring a
// name back.
void FileServer::drop_if_unused(Inode inode) {
  const auto found = nodes_.find(inode);
  if (found == nodes_.end() || names_ != NamesLast::at_once) return;
  if (found->second.links == 0 && found->second.pins == 0) nodes_.erase(found);
}

Result<FileServer::Inode> FileServer::lookup(Inode directory, const std::string& name) const {
  TORC_ASSIGN(const Node* node, at(directory, FileKind::directory));
  const auto found = node->entries.find(name);
  if (found == node->entries.end()) return no(ENOENT, "no " + name);
  return found->second;
}

Result<FileServer::Inode> FileServer::walk(const Path& path) const {
  Inode at = kRoot;
  for (const Path& part : path.relative_path()) {
    TORC_ASSIGN(at, lookup(at, part.string()));
  }
  return at;
}

Result<FileServer::Attributes> FileServer::attributes(Inode inode) const {
  const auto found = nodes_.find(inode);
  if (found == nodes_.end()) return no(ESTALE, "no such inode");
  const Node& node = found->second;
  Attributes out;
  out.status = {node.kind, {node.bytes ? node.bytes->size() : 0}};
  out.change = node.change;
  out.links = node.links;
  return out;
}

Result<std::map<std::string, FileServer::Inode>> FileServer::list(Inode directory) const {
  TORC_ASSIGN(const Node* node, at(directory, FileKind::directory));
  return node->entries;
}

Result<std::shared_ptr<const FileContent>> FileServer::content(Inode file) const {
  TORC_ASSIGN(const Node* node, at(file, FileKind::regular));
  return node->bytes;
}

FileServer::Inode FileServer::create_unnamed() {
  const Inode made = next_++;
  Node& node = nodes_[made];
  node.bytes = node.durable_bytes = nothing_in_it();
  return made;
}

Result<FileServer::Inode> FileServer::create(Inode directory, const std::string& name) {
  TORC_ASSIGN(const Node* node, at(directory, FileKind::directory));
  if (node->entries.contains(name)) return no(EEXIST, name + " is there");
  const Inode made = create_unnamed();
  enter(directory, name, made);
  return made;
}

Result<void> FileServer::write(Inode file, std::uint64_t offset, std::string_view bytes) {
  TORC_ASSIGN(Node * node, at(file, FileKind::regular));
  FileContent next = *node->bytes;
  next.write(offset, bytes);
  changed(file).bytes = std::make_shared<const FileContent>(std::move(next));
  return {};
}

Result<void> FileServer::write_pages(Inode file, const FileContent& from,
                                     const std::set<std::uint64_t>& pages) {
  TORC_ASSIGN(Node * node, at(file, FileKind::regular));
  FileContent next = *node->bytes;
  for (const std::uint64_t page : pages) {
    const std::uint64_t at = page * FileContent::kPage;
    // What others have appended stays.
    if (next.size() > from.size() && from.size() < at + FileContent::kPage) {
      next.write(at, from.read(at, FileContent::kPage));
    } else {
      next.take_page(from, page);
    }
  }
  changed(file).bytes = std::make_shared<const FileContent>(std::move(next));
  return {};
}

Result<void> FileServer::link(Inode file, Inode directory, const std::string& name) {
  TORC_TRY(at(file, FileKind::regular));
  TORC_ASSIGN(const Node* node, at(directory, FileKind::directory));
  if (node->entries.contains(name)) return no(EEXIST, name + " is there");
  enter(directory, name, file);
  return {};
}

Result<void> FileServer::unlink(Inode directory, const std::string& name) {
  TORC_ASSIGN(const Inode inode, lookup(directory, name));
  if (nodes_.at(inode).kind == FileKind::directory) return no(EISDIR, name + " is a directory");
  leave(directory, name);
  return {};
}

Result<FileServer::Inode> FileServer::make_directory(Inode directory, const std::string& name) {
  TORC_ASSIGN(const Node* node, at(directory, FileKind::directory));
  if (node->entries.contains(name)) return no(EEXIST, name + " is there");
  const Inode made = next_++;
  nodes_[made].kind = FileKind::directory;
  enter(directory, name, made);
  return made;
}

Result<void> FileServer::remove_directory(Inode directory, const std::string& name) {
  TORC_ASSIGN(const Inode inode, lookup(directory, name));
  TORC_ASSIGN(const Node* node, at(inode, FileKind::directory));
  if (!node->entries.empty()) return no(ENOTEMPTY, name + " is not empty");
  leave(directory, name);
  return {};
}

Result<void> FileServer::rename(Inode from, const std::string& old_name, Inode to,
                                const std::string& new_name, Replace replace) {
  TORC_ASSIGN(const Inode moved, lookup(from, old_name));
  TORC_ASSIGN(const Node* target, at(to, FileKind::directory));
  if (const auto there = target->entries.find(new_name); there != target->entries.end()) {
    if (there->second == moved) return {};
    if (replace == Replace::no) return no(EEXIST, new_name + " is there");
    const Node& old = nodes_.at(there->second);
    const bool moves_directory = nodes_.at(moved).kind == FileKind::directory;
    if (moves_directory != (old.kind == FileKind::directory))
      return no(moves_directory ? ENOTDIR : EISDIR, new_name + " is of another kind");
    if (!old.entries.empty()) return no(ENOTEMPTY, new_name + " is not empty");
    leave(to, new_name);
  }
  pin(moved);
  leave(from, old_name);
  enter(to, new_name, moved);
  unpin(moved);
  return {};
}

void FileServer::pin(Inode inode) {
  if (const auto found = nodes_.find(inode); found != nodes_.end()) ++found->second.pins;
}

void FileServer::unpin(Inode inode) {
  const auto found = nodes_.find(inode);
  if (found == nodes_.end() || found->second.pins == 0) return;
  --found->second.pins;
  drop_if_unused(inode);
}

void FileServer::sync(Inode file, Sync what) {
  const auto found = nodes_.find(file);
  if (found == nodes_.end()) return;
  found->second.durable_bytes = found->second.bytes;
  if (what == Sync::all && names_ == NamesLast::in_order) {
    for (auto& [inode, node] : nodes_) node.durable_entries = node.entries;
  }
}

void FileServer::sync_directory(Inode directory) {
  for (auto& [inode, node] : nodes_) {
    if (inode == directory || names_ == NamesLast::in_order) node.durable_entries = node.entries;
  }
}

void FileServer::power_cut(KeepNames keep) {
  for (auto& [inode, node] : nodes_) {
    node.bytes = node.durable_bytes;
    if (keep == KeepNames::no) node.entries = node.durable_entries;
    node.durable_entries = node.entries;
    node.pins = 0;
    node.change = ++changes_;
  }
  recount();
}

void FileServer::recount() {
  std::map<Inode, std::uint64_t> links;
  std::vector<Inode> open{kRoot};
  while (!open.empty()) {
    const Inode directory = open.back();
    open.pop_back();
    for (const auto& [name, inode] : nodes_.at(directory).entries) {
      if (links[inode]++ == 0 && nodes_.at(inode).kind == FileKind::directory)
        open.push_back(inode);
    }
  }
  std::erase_if(nodes_, [&](const auto& entry) {
    return entry.first != kRoot && !links.contains(entry.first);
  });
  for (auto& [inode, node] : nodes_) node.links = inode == kRoot ? 0 : links.at(inode);
}

}  // namespace torc::store::testing
