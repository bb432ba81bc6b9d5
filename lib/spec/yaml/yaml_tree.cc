#include "lib/spec/yaml/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <istream>
#include <optional>
#include <streambuf>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/yaml/yaml_text.h"

namespace torc::spec {
namespace {

// Ends the parse from within an event: the parser offers no other way out.
struct Stop {
  std::size_t offset;
  std::string message;
  std::string remedy;
};

// The text as a stream, without a copy.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin =
        const_cast<char*>(text.data());  // NOLINT: a streambuf that is only read never writes
    setg(begin, begin, begin + text.size());
  }
};

// Places of the parser in the text that the user has.
struct Marks {
  const std::optional<JoinedEscapes>& joined;
  [[nodiscard]] std::size_t offset_of(const YAML::Mark& mark) const {
    const std::size_t at = mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos);
    return joined ? joined->original(at) : at;
  }
};

bool is_merge_key(const Node& key) {
  return key.kind == NodeKind::scalar && key.plain && key.text == "<<";
}

class Builder final : public YAML::EventHandler {
 public:
  Builder(const Source& source, Report& report, Tree& tree, const Marks& marks)
      : source_(source), report_(report), tree_(tree), marks_(marks) {}

  [[nodiscard]] std::size_t last_offset() const { return last_; }
  // The innermost '[' or '{' that is still open, and the outermost.
  struct Open {
    std::size_t inner = 0;
    std::size_t outer = 0;
  };
  [[nodiscard]] std::optional<Open> open_brackets() const {
    std::optional<Open> open;
    for (const Node* node : open_) {
      const std::size_t at = skip_properties(source_.text(), node->offset);
      const std::string_view rest = source_.text().substr(at);
      if (rest.starts_with('[') || rest.starts_with('{')) open = Open{at, open ? open->outer : at};
    }
    return open;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (tree_.root == nullptr) return;
    throw Stop{marks_.offset_of(mark), "a second document starts here",
               "a spec is one document: check the indentation of this line, or remove the '---'"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node& node = make(NodeKind::null, mark, anchor);
    for (const std::string_view word : {"null", "Null", "NULL", "~"}) {
      if (source_.text().substr(node.offset).starts_with(word)) node.text = word;
    }
    finish(node);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    last_ = marks_.offset_of(mark);
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end() || !target->second->closed) {
      throw Stop{last_, "this alias names something that it is a part of",
                 "write the value out here"};
    }
    Node& node = tree_.nodes.emplace_back(*target->second);
    node.offset = static_cast<std::uint32_t>(last_);
    node.alias = true;
    append(node);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node& node = make(NodeKind::scalar, mark, anchor);
    node.plain = tag == "?";
    if (value.size() > kMaxTextBytes) {
      throw Stop{node.offset, fmt::format("a text of more than {} MiB", kMaxTextBytes >> 20U),
                 "keep it in a file of its own, and name that"};
    }
    node.text = value;
    node.nodes += static_cast<std::uint32_t>(value.size() / kBytesOfOne);
    check_tag(node, tag);
    if (node.text.find('\0') != std::string::npos) {
      report_.error(source_.place(node.offset), "a text with a NUL character", "remove the '\\0'");
      node.text.erase(std::remove(node.text.begin(), node.text.end(), '\0'), node.text.end());
    }
    check_closed(node);
    finish(node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(NodeKind::sequence, mark, anchor), tag);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(NodeKind::map, mark, anchor), tag);
  }
  void OnMapEnd() override {
    check_keys(*open_.back());
    merge(*open_.back());
    close();
  }

 private:
  Node& make(NodeKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    last_ = marks_.offset_of(mark);
    Node& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.offset = static_cast<std::uint32_t>(last_);
    if (anchor != 0) anchors_[anchor] = &node;
    return node;
  }

  void open(Node& node, const std::string& tag) {
    check_tag(node, tag);
    if (open_.size() == kMaxDepth) {
      throw Stop{node.offset, fmt::format("nested more than {} deep", kMaxDepth),
                 "no part of a spec needs that: check the brackets and the indentation"};
    }
    open_.push_back(&node);
  }

  void close() {
    Node& node = *open_.back();
    open_.pop_back();
    finish(node);
  }

  void finish(Node& node) {
    node.closed = true;
    append(node);
  }

  void append(const Node& node) {
    if (open_.empty()) {
      tree_.root = &node;
      return;
    }
    open_.back()->items.push_back(&node);
    open_.back()->nodes += node.nodes;
    if (open_.back()->nodes > kMaxNodes) {
      throw Stop{
          last_,
          fmt::format(
              "more than {} values, aliases counted as what they repeat, long texts as one for "
              "each {} bytes",
              kMaxNodes, kBytesOfOne),
          "write many similar jobs as one with parameters"};
    }
  }

  void check_tag(Node& node, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag.starts_with(kCore)) {
      node.plain = tag.substr(kCore.size()) != "str";
      return;
    }
    report_.error(source_.place(node.offset), fmt::format("unknown tag {}", torc::quoted(tag)),
                  "remove the tag: a spec needs none");
  }

  // The parser takes the end of the file for a closing quote.
  void check_closed(const Node& node) {
    if (node.plain) return;
    const std::size_t at = skip_properties(source_.text(), node.offset);
    const std::string_view text = source_.text();
    if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return;
    if (!quoted_length(text, at)) {
      throw Stop{at, fmt::format("this {} is never closed", text[at]), "close the quote"};
    }
  }

  void check_keys(const Node& map) {
    std::unordered_set<std::string_view> seen;
    for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
      const Node& key = *map.items[i];
      if (key.kind == NodeKind::sequence || key.kind == NodeKind::map) {
        report_.error(place_of(source_, key), "a key must be a name, not a list or a map",
                      "put quotes around it if it is meant as text");
      } else if (!seen.insert(key.text).second) {
        report_.error(place_of(source_, key),
                      fmt::format("duplicate key {}", torc::quoted(key.text)),
                      "keep one of the two");
      }
    }
  }

  // YAML 1.1's merge: what the map has itself wins, of several maps the earlier ones. The parser
  // leaves it to us.
  void merge(Node& map) {
    std::vector<const Node*> own;
    std::vector<const Node*> sources;
    for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
      if (is_merge_key(*map.items[i])) {
        collect_sources(*map.items[i + 1], sources);
      } else {
        own.insert(own.end(), {map.items[i], map.items[i + 1]});
      }
    }
    if (own.size() == map.items.size()) return;
    std::unordered_set<std::string_view> seen;
    for (std::size_t i = 0; i < own.size(); i += 2) seen.insert(own[i]->text);
    for (const Node* source : sources) {
      for (std::size_t i = 0; i + 1 < source->items.size(); i += 2) {
        if (!seen.insert(source->items[i]->text).second) continue;
        own.insert(own.end(), {source->items[i], source->items[i + 1]});
      }
    }
    map.items = std::move(own);
  }

  void collect_sources(const Node& value, std::vector<const Node*>& sources) {
    if (value.kind == NodeKind::map) {
      sources.push_back(&value);
      return;
    }
    const auto is_map = [](const Node* n) { return n->kind == NodeKind::map; };
    if (value.kind == NodeKind::sequence && std::ranges::all_of(value.items, is_map)) {
      sources.insert(sources.end(), value.items.begin(), value.items.end());
      return;
    }
    report_.error(place_of(source_, value), "'<<' merges maps, and this is not one",
                  "write <<: *name, where &name marks a map");
  }

  const Source& source_;
  Report& report_;
  Tree& tree_;
  const Marks& marks_;
  std::vector<Node*> open_;
  std::unordered_map<YAML::anchor_t, const Node*> anchors_;
  std::size_t last_ = 0;
};

// What usually lies behind a message of the parser.
std::string remedy_for(std::string_view message) {
  const std::pair<std::string_view, std::string_view> remedies[] = {
      {"illegal map value", "put quotes around a text that holds ': ', and check the indentation"},
      {"end of map not found",
       "the keys of one map stand in the same column; quotes stand around a whole text"},
      {"end of sequence not found",
       "the '-' of one list stand in the same column, and so do the keys of one map"},
      {"illegal flow end", "this bracket closes nothing"},
      {"illegal block entry", "a list starts on a line of its own, below its key"},
      {"the referenced anchor is not defined",
       "mark the value with &name before; put quotes around a text that starts with '*'"},
      {"unknown token", "put quotes around a text that starts with '@', '`' or another sign"},
      {"invalid unicode",
       "write the character itself; two escapes that make one together are for JSON files"},
      {"unknown escape character", "write \\\\ for a backslash, or use single quotes"},
  };
  for (const auto& [start, remedy] : remedies) {
    if (message.starts_with(start)) return std::string(remedy);
  }
  return "check the quotes, the brackets and the indentation here and in the line before";
}

// Without a tree there is nothing to look at.
std::string rest(std::string remedy) {
  return std::move(remedy) + "\ncorrect this first: nothing else in the file was checked";
}

// Says that quotes are missing around a text that has a bracket; with them, where that is simple.
void report_bare_text(const Source& source, Report& report, BareText bare) {
  const std::string_view text = source.text().substr(bare.begin, bare.end - bare.begin);
  std::string remedy = "put quotes around the whole text";
  for (const char quote : {'"', '\''}) {
    if (text.find(quote) != std::string_view::npos || text.find('\\') != std::string_view::npos)
      continue;
    remedy += fmt::format(": {}{}{}", quote, text, quote);
    break;
  }
  const char bracket = text[text.find_first_of("{[")];
  report.error(
      source.place(bare.begin, text.size()),
      fmt::format("not valid YAML: a text without quotes that has a '{}', between brackets",
                  bracket),
      rest(std::move(remedy)));
}

void report_broken(const Source& source, Report& report, const YAML::Exception& e,
                   const Builder& builder, const Marks& marks) {
  const std::size_t last = builder.last_offset();
  const std::size_t at = e.mark.is_null() ? last : marks.offset_of(e.mark);
  const bool at_tab = std::string_view(e.msg).starts_with("illegal tab");
  const std::optional<Builder::Open> bracket = builder.open_brackets();
  std::optional<std::size_t> tab;  // within brackets tabs are fine
  if (at_tab)
    tab = at;
  else if (!bracket && !looks_like_json(source.text()))
    tab = indenting_tab(source, std::min(last, at), at);
  if (tab) {
    report.error(source.place(*tab), "a tab used for indentation", rest("indent with spaces"));
    return;
  }
  const std::size_t from = std::min({last, at, bracket ? bracket->outer : at});
  if (const auto bare = bare_text_with_bracket(source.text(), from, at)) {
    report_bare_text(source, report, *bare);
    return;
  }
  if (std::string_view(e.msg).find("flow not found") != std::string_view::npos && bracket) {
    report.error(
        source.place(bracket->inner),
        fmt::format("not valid YAML: this '{}' is not closed", source.text()[bracket->inner]),
        rest("close it, or add the comma that is missing within; put quotes around a text "
             "that starts with it"));
    return;
  }
  report.error(source.place(at), fmt::format("not valid YAML: {}", e.msg), rest(remedy_for(e.msg)));
}

void parse_events(const Source& source, Report& report, Tree& tree) {
  const std::optional<JoinedEscapes> joined = join_escapes(source.text());
  const Marks marks{joined};
  Builder builder(source, report, tree, marks);
  try {
    ViewBuffer buffer(joined ? std::string_view(joined->text) : source.text());
    std::istream in(&buffer);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    return;
  } catch (const Stop& stop) {
    report.error(source.place(stop.offset), stop.message, rest(stop.remedy));
  } catch (const YAML::Exception& e) {
    report_broken(source, report, e, builder, marks);
  } catch (const std::exception& e) {
    report.error(source.place(builder.last_offset()), fmt::format("cannot be read: {}", e.what()),
                 rest("check the text after this place"));
  }
  tree.root = nullptr;
}

}  // namespace

Tree read_yaml(const Source& source, Report& report) {
  if (Tree tree = read_quickly(source.text()); tree.root != nullptr) return tree;
  return read_yaml_generally(source, report);
}

Tree read_yaml_generally(const Source& source, Report& report) {
  Tree tree;
  if (!check_bytes(source, report)) return tree;
  parse_events(source, report, tree);
  return tree;
}

}  // namespace torc::spec
