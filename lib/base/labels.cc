#include "lib/base/labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc {

std::vector<std::string_view> labels_of(std::string_view text) {
  std::vector<std::string_view> labels = split(text, ',');
  for (std::string_view& label : labels) label = trimmed(label);
  std::erase_if(labels, [](std::string_view label) { return label.empty(); });
  return labels;
}

std::string join_labels(std::vector<std::string_view> labels) {
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  std::string text;
  for (const std::string_view label : labels) {
    if (!text.empty()) text += ',';
    text += label;
  }
  return text;
}

Result<std::string> parse_labels(std::string_view text) {
  const std::vector<std::string_view> labels = labels_of(text);
  const auto commas = static_cast<std::size_t>(std::ranges::count(text, ','));
  if (labels.size() != (text.empty() ? 0 : commas + 1)) {
    return invalid(fmt::format("one of the labels '{}' is empty", printable(text)),
                   "write labels with commas between them, as gpu,ssd");
  }
  return join_labels(labels);
}

bool covers_labels(std::string_view have, std::string_view need) {
  if (have == need) return true;
  const std::vector<std::string_view> has = labels_of(have);
  return std::ranges::all_of(labels_of(need), [&](std::string_view label) {
    return std::ranges::find(has, label) != has.end();
  });
}

std::string quote_labels(std::string_view labels) {
  std::string text;
  for (const std::string_view label : labels_of(labels))
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", printable(label));
  return text;
}

std::string say_labels(std::string_view labels) {
  const std::size_t n = labels_of(labels).size();
  if (n == 0) return "no label";
  return fmt::format("{} {}", n == 1 ? "label" : "labels", quote_labels(labels));
}

}  // namespace torc
