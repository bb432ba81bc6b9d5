#include "lib/spec/read/session.h"

#include <fmt/format.h>

#include "lib/base/text/quote.h"
#include "lib/spec/text/placeholder.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

void Session::planned(const Node& node, std::string_view what, std::string_view instead) const {
  report.planned(
      place(node),
      fmt::format("{} is part of the language, but this version cannot run it yet", what),
      fmt::format("'torc init' refuses it{}{}", instead.empty() ? "" : "; ", instead));
}

std::string Session::text(const Node& node) const {
  if (variables.empty() || node.text.find('{') == std::string::npos) return node.text;
  const auto refuse_format = [&](const Placeholder& p) {
    report.error(place_within(source, place(node), node.text, p.begin, p.end - p.begin),
                 fmt::format("variable {} takes no format ':{}'", torc::quoted(p.name), p.format),
                 "write the value as it shall look, and {name} alone");
  };
  for (const Placeholder& p : misformatted(node.text)) {
    if (variables.contains(p.name)) refuse_format(p);
  }
  std::string out;
  std::size_t done = 0;
  for (const Placeholder& p : placeholders(node.text)) {
    const auto variable = variables.find(p.name);
    if (variable == variables.end()) continue;
    if (!p.format.empty()) refuse_format(p);
    put_in += variable->second.size();
    const bool too_long = out.size() + variable->second.size() > kMaxTextBytes;
    if (too_long || put_in > kMaxPutIn) {
      const auto limit = too_long ? kMaxTextBytes : kMaxPutIn;
      const bool first = put_in - variable->second.size() <= kMaxPutIn;
      if (too_long || first) {
        error(node,
              fmt::format("with {} variables {} more than {} MiB", too_long ? "its" : "their",
                          too_long ? "this text has" : "the texts of this file have", limit >> 20U),
              "put less into the variables, or keep it in a file");
      }
      return node.text;
    }
    out.append(node.text, done, p.begin - done);
    out += variable->second;
    done = p.end;
  }
  return out.append(node.text, done);
}

bool Session::keeps(const Node& at, const ParameterValues& values) const {
  const auto* const list = std::get_if<std::vector<ParameterValue>>(&values);
  const bool were_few = kept_values <= read.most_values;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto* const text = std::get_if<std::string>(&(*list)[i]);
    kept_values += 1 + (text == nullptr ? 0 : text->size() / kBytesOfOne);
  }
  if (kept_values <= read.most_values) return true;
  if (were_few) {
    error(at,
          fmt::format("the parameters of this file have more than {} values in all, long texts as "
                      "one for each {} bytes",
                      read.most_values, kBytesOfOne),
          "each entry has those that it uses: let one entry do for several, or split the workflow");
  }
  return false;
}

}  // namespace torc::spec
