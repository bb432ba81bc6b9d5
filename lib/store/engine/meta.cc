#include "lib/store/engine/meta.h"

#include <fmt/format.h>

#include <map>

#include "lib/base/number.h"
#include "lib/store/disk/hash.h"

namespace torc::store {
namespace {

constexpr std::string_view kFirstLine = "torc store\n";
const std::string kUnknown = "unknown";

std::string check_line(std::string_view lines) {
  return fmt::format("check: {:08x}\n", crc32c(lines));
}

std::map<std::string_view, std::string_view> split(std::string_view lines) {
  std::map<std::string_view, std::string_view> out;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) out[line.substr(0, colon)] = line.substr(colon + 2);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

// The number with which `text` begins, after blanks.
template <class Number>
std::optional<Number> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return leading_number<Number>(text);
}

Error damaged_meta(const Path& file, const std::string& how) {
  return {ErrorKind::corrupt, file.string() + " is damaged: " + how,
          "restore this file from a copy of the store"};
}

// Formats are not carried over from one to the next: a store lives as long as one workflow.
Error other_format(const Path& file, unsigned format) {
  const bool older = format < kFormat;
  return {ErrorKind::unsupported,
          file.string() + " has format " + std::to_string(format) + ", which is of " +
              (older ? "an older" : "a newer") + " torc; this one knows format " +
              std::to_string(kFormat),
          older ? "go on with the torc that made the store, or make it anew with this one"
                : "use the torc that made the store, or a newer one"};
}

}  // namespace

Whereabouts Meta::made() const {
  return {identity.machine, identity.host, inode, born};
}

Whereabouts Meta::now(const World& world) const {
  return {world.machine, world.host, place.inode, place.born};
}

bool Meta::is_copy() const {
  return compare_directories(made(), {{}, {}, place.inode, place.born}) == SameDirectory::no;
}

std::string encode_meta(const Meta& meta) {
  const bool journal = meta.identity.engine == Engine::journal;
  std::string out(kFirstLine);
  out += "format: " + std::to_string(kFormat) + "\n";
  out += "id: " + meta.identity.id_hex() + "\n";
  out += std::string("engine: ") + (journal ? "journal" : "lmdb") + "\n";
  if (journal) {
    out += "names: " + std::string(to_string(meta.names)) + "\n";
    out += "retention: " + std::to_string(meta.retention.count()) + " s\n";
  }
  out += "instance: " + meta.identity.instance_hex() + "\n";
  out += "place: " + std::to_string(meta.inode) + " " + std::to_string(meta.born) + "\n";
  out += "host: " + meta.identity.host + "\n";
  if (!journal) {
    out += "machine: " + (meta.identity.machine.empty() ? kUnknown : meta.identity.machine) + "\n";
  }
  out += "filesystem: " + meta.filesystem + "\n";
  return out + check_line(out);
}

Result<Meta> decode_meta(std::string_view text, const Path& file) {
  if (!text.starts_with(kFirstLine)) {
    return Error{ErrorKind::not_found, file.string() + " is not the META file of a torc store",
                 "name the directory that `torc init` made"};
  }
  auto lines = split(text);
  const auto format = leading_number<unsigned>(lines["format"]);
  if (!format) return damaged_meta(file, "it names no format");
  if (*format != kFormat) return other_format(file, *format);
  const std::size_t check = text.rfind("check: ");
  if (check == std::string_view::npos || text.substr(check) != check_line(text.substr(0, check))) {
    return damaged_meta(file, "its checksum is wrong");
  }
  Meta out;
  if (!from_hex(lines["id"], out.identity.id)) return damaged_meta(file, "its store id is wrong");
  const std::string_view place = lines["place"];
  const auto inode = number_at<std::uint64_t>(place);
  const auto born = number_at<std::int64_t>(place.substr(std::min(place.find(' '), place.size())));
  if (!from_hex(lines["instance"], out.identity.instance) || !inode || !born)
    return damaged_meta(file, "its instance or its place is wrong");
  out.inode = *inode;
  out.born = *born;
  out.identity.host = lines["host"];
  out.filesystem = lines["filesystem"];
  if (lines["engine"] == "lmdb") {
    out.identity.engine = Engine::lmdb;
    const std::string_view machine = lines["machine"];
    Hash128 id{};
    if (machine != kUnknown && !from_hex(machine, id))
      return damaged_meta(file, "the id of its machine is wrong");
    if (machine != kUnknown) out.identity.machine = to_hex(id);
    return out;
  }
  const auto names = names_of(lines["names"]);
  if (lines["engine"] != "journal" || !names) {
    return Error{ErrorKind::unsupported,
                 file.string() + " names an engine or a primitive that this program does not know",
                 "use the torc that made the store"};
  }
  out.identity.engine = Engine::journal;
  out.names = *names;
  const auto retention = number_at<std::int64_t>(lines["retention"]);
  if (!retention || *retention < 0 || *retention > kMostRetention.count())
    return damaged_meta(file, "its retention is wrong");
  out.retention = std::chrono::seconds(*retention);
  return out;
}

}  // namespace torc::store
