#include "lib/store/meta.h"

#include <charconv>
#include <cstdio>
#include <map>

#include "lib/store/hash.h"

namespace torc::store {
namespace {

constexpr std::string_view kFirstLine = "torc store\n";

std::string check_line(std::string_view lines) {
  char text[24];
  std::snprintf(text, sizeof text, "check: %08x\n", crc32c(lines));
  return text;
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

Error damaged(const Path& file, const std::string& how) {
  return {ErrorKind::corrupt, file.string() + " is damaged: " + how,
          "restore this file from a copy of the store"};
}

}  // namespace

std::string encode_meta(const Meta& meta) {
  const bool journal = meta.identity.engine == Engine::journal;
  std::string out(kFirstLine);
  out += "format: " + std::to_string(kFormat) + "\n";
  out += "id: " + meta.identity.id_hex() + "\n";
  out += std::string("engine: ") + (journal ? "journal" : "lmdb") + "\n";
  if (journal) {
    out += "publish: " + std::string(to_string(meta.publish.primitive)) + "\n";
    out += "durable-name: " + std::string(to_string(meta.publish.name)) + "\n";
  }
  out += "host: " + meta.identity.host + "\n";
  out += "filesystem: " + meta.filesystem + "\n";
  return out + check_line(out);
}

Result<Meta> decode_meta(std::string_view text, const Path& file) {
  if (!text.starts_with(kFirstLine)) {
    return Error{ErrorKind::not_found, file.string() + " is not the META file of a torc store",
                 "name the directory that `torc init` made"};
  }
  auto lines = split(text);
  const std::string_view format = lines["format"];
  unsigned number = 0;
  const auto parsed = std::from_chars(format.data(), format.data() + format.size(), number);
  if (parsed.ec != std::errc{}) return damaged(file, "it names no format");
  if (number != kFormat) {
    return Error{ErrorKind::unsupported,
                 file.string() + " has format " + std::string(format) +
                     "; this program knows format " + std::to_string(kFormat),
                 "use the torc that made the store"};
  }
  const std::size_t check = text.rfind("check: ");
  if (check == std::string_view::npos || text.substr(check) != check_line(text.substr(0, check))) {
    return damaged(file, "its checksum is wrong");
  }
  Meta out;
  if (!from_hex(lines["id"], out.identity.id)) return damaged(file, "its store id is wrong");
  out.identity.host = lines["host"];
  out.filesystem = lines["filesystem"];
  if (lines["engine"] == "lmdb") {
    out.identity.engine = Engine::lmdb;
    return out;
  }
  const auto primitive = primitive_of(lines["publish"]);
  const auto name = durable_name_of(lines["durable-name"]);
  if (lines["engine"] != "journal" || !primitive || !name) {
    return Error{ErrorKind::unsupported,
                 file.string() + " names an engine or a primitive that this program does not know",
                 "use the torc that made the store"};
  }
  out.identity.engine = Engine::journal;
  out.publish = {*primitive, *name};
  return out;
}

}  // namespace torc::store
