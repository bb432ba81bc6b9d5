#include "lib/cluster/written_schedulers.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/script/script_tree.h"
#include "lib/spec/text/form.h"
#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_node.h"
#include "lib/spec/yaml/yaml_text.h"
#include "lib/spec/yaml/yaml_tree.h"

namespace torc::cluster {
namespace {

using spec::Node;
using spec::NodeKind;

constexpr const char* kSchedulers = "slurm_schedulers";
constexpr const char* kOtherSpelling = "schedulers";
constexpr const char* kBinding = "scheduler";
constexpr const char* kByHand = "write it yourself; `torc plan --write --dry-run` shows the lines";

const Node* value_of(const Node& map, std::string_view key) {
  for (std::size_t i = 0; map.kind == NodeKind::map && i + 1 < map.items.size(); i += 2) {
    if (map.items[i]->text == key) return map.items[i + 1];
  }
  return nullptr;
}

const Node* key_of(const Node& map, std::string_view key) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i]->text == key) return map.items[i];
  }
  return nullptr;
}

// As the file calls it, where it has one.
std::string_view list_key(const Node& root) {
  return key_of(root, kOtherSpelling) != nullptr ? kOtherSpelling : kSchedulers;
}

// The lines of a text by their places in it.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t begin(std::size_t at) const {
    return at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  }
  [[nodiscard]] std::size_t end(std::size_t at) const {  // behind its newline
    const std::size_t newline = text_.find('\n', at);
    return newline == std::string_view::npos ? text_.size() : newline + 1;
  }
  [[nodiscard]] std::string_view line(std::size_t at) const {
    return text_.substr(begin(at), end(at) - begin(at));
  }
  // Nothing, or a comment.
  [[nodiscard]] bool says_nothing(std::size_t at) const {
    const std::string_view rest = trimmed(line(at));
    return rest.empty() || rest.front() == '#' || rest == "...";
  }
  // What stands before `at` in its line; nullopt: more than blanks.
  [[nodiscard]] std::optional<std::string> indent(std::size_t at) const {
    const std::string_view before = text_.substr(begin(at), at - begin(at));
    if (before.find_first_not_of(' ') != std::string_view::npos) return std::nullopt;
    return std::string(before);
  }

 private:
  std::string_view text_;
};

Error refused(const std::string& file, std::string what) {
  return invalid(fmt::format("{}: {}", file, what), kByHand);
}

// Where the list goes that is not there yet: before `jobs` and the comment that stands upon it.
std::size_t place_before(const Lines& lines, std::size_t key) {
  std::size_t at = lines.begin(key);
  while (at > 0) {
    const std::size_t before = lines.begin(at - 1);
    if (!lines.line(before).starts_with("#")) return at;
    at = before;
  }
  return lines.begin(key);  // the comment is that of the file
}

Result<Edit> edit_of_list(std::string_view text, const std::string& file, const Node& root,
                          const std::vector<WrittenScheduler>& schedulers) {
  const Lines lines(text);
  const Node* jobs = key_of(root, "jobs");
  const Node* there = key_of(root, list_key(root));
  const Node* anchor = there != nullptr ? there : jobs;
  if (anchor == nullptr) return refused(file, "it has no 'jobs'");
  const auto indent = lines.indent(anchor->offset);
  if (!indent || text[root.offset] == '{')
    return refused(file, "its keys do not stand on lines of their own (JSON does not, either)");
  std::string list = fmt::format("{}{}:\n", *indent, list_key(root));
  for (const WrittenScheduler& one : schedulers) list += text_of(one, *indent + "  ");
  if (there == nullptr) {
    const std::size_t at = place_before(lines, anchor->offset);
    return Edit{at, 0, list + "\n"};
  }
  // Up to the next key, without what is said upon that.
  const std::size_t begin = lines.begin(there->offset);
  std::size_t end = text.size();
  for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
    if (root.items[i]->offset > there->offset)
      end = std::min(end, lines.begin(root.items[i]->offset));
  }
  while (end > lines.end(begin) && lines.says_nothing(end - 1)) end = lines.begin(end - 1);
  return Edit{begin, end - begin, std::move(list)};
}

Result<Edit> edit_of_job(std::string_view text, const std::string& file, const Node& job,
                         const WrittenBinding& binding) {
  const Lines lines(text);
  const std::string bound = spec::yaml_quoted(binding.scheduler);
  const Node* name = value_of(job, "name");
  const std::string whose = name == nullptr ? "a job" : "job " + torc::quoted(name->text);
  if (job.kind != NodeKind::map || job.alias || job.items.size() < 2)
    return refused(file, fmt::format("{} is written by an alias", whose));
  if (const Node* there = value_of(job, kBinding)) {
    const spec::Source source(text, file);
    const spec::Place place = spec::place_of(source, *there);
    if (there->kind != NodeKind::scalar || there->alias)
      return refused(file, fmt::format("the scheduler of {} is written by an alias", whose));
    return Edit{there->offset, place.length, bound};
  }
  if (text[job.offset] == '{') {
    const std::size_t at = job.items.size() >= 4 ? job.items[2]->offset : job.offset + 1;
    return Edit{at, 0, fmt::format("{}: {}, ", kBinding, bound)};
  }
  const Node& first = *job.items[0];
  const std::size_t next_line = lines.end(first.offset);
  const std::string indent(first.offset - lines.begin(first.offset), ' ');
  if (job.items.size() >= 4 && job.items[2]->offset >= next_line) {
    // Below the first key, where its value ends in its line.
    bool alone = true;
    for (std::size_t at = next_line; at < lines.begin(job.items[2]->offset); at = lines.end(at))
      alone = alone && lines.says_nothing(at);
    if (alone) return Edit{next_line, 0, fmt::format("{}{}: {}\n", indent, kBinding, bound)};
  }
  return Edit{first.offset, 0, fmt::format("{}: {}\n{}", kBinding, bound, indent)};
}

// All that both say but the schedulers.
class Comparison {
 public:
  explicit Comparison(const std::vector<WrittenBinding>& bindings) : bindings_(bindings) {}

  [[nodiscard]] bool same_file(const Node& a, const Node& b) const {
    return same_map(a, b, list_key(b), [&](const std::string& key, const Node& x, const Node& y) {
      return key == "jobs" ? same_jobs(x, y) : same(x, y);
    });
  }

 private:
  static bool same(const Node& a, const Node& b) {
    return a.kind == b.kind && a.plain == b.plain && a.text == b.text &&
           std::ranges::equal(a.items, b.items,
                              [](const Node* x, const Node* y) { return same(*x, *y); });
  }
  template <class Same>
  static bool same_map(const Node& a, const Node& b, std::string_view without, Same same_value) {
    const auto pairs = [&](const Node& map) {
      std::vector<std::pair<std::string, const Node*>> all;
      for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
        if (map.items[i]->text != without) all.emplace_back(map.items[i]->text, map.items[i + 1]);
      }
      return all;
    };
    if (a.kind != NodeKind::map || b.kind != NodeKind::map) return false;
    return std::ranges::equal(pairs(a), pairs(b), [&](const auto& x, const auto& y) {
      return x.first == y.first && same_value(x.first, *x.second, *y.second);
    });
  }
  [[nodiscard]] bool same_jobs(const Node& a, const Node& b) const {
    if (a.kind != NodeKind::sequence || b.kind != a.kind || a.items.size() != b.items.size())
      return false;
    for (std::size_t i = 0; i < a.items.size(); ++i) {
      const auto bound = std::ranges::find(bindings_, i, &WrittenBinding::job);
      const bool fine = bound == bindings_.end()
                            ? same(*a.items[i], *b.items[i])
                            : same_map(*a.items[i], *b.items[i], kBinding,
                                       [](const std::string&, const Node& x, const Node& y) {
                                         return same(x, y);
                                       }) &&
                                  value_of(*b.items[i], kBinding) != nullptr &&
                                  value_of(*b.items[i], kBinding)->text == bound->scheduler;
      if (!fine) return false;
    }
    return true;
  }

  const std::vector<WrittenBinding>& bindings_;
};

std::vector<Edit> sorted(std::vector<Edit> edits) {
  std::ranges::sort(edits, {}, &Edit::begin);
  return edits;
}

}  // namespace

std::string text_of(const WrittenScheduler& written, std::string_view indent) {
  const spec::SlurmScheduler& s = written.scheduler;
  std::string text;
  const auto line = [&](const std::string& said) {
    if (!said.empty()) text += fmt::format("{}{}{}\n", indent, text.empty() ? "- " : "  ", said);
  };
  const auto pair = [&](const char* key, const std::string& value) {
    if (!value.empty()) line(fmt::format("{}: {}", key, spec::yaml_quoted(value)));
  };
  pair("name", s.name);
  pair("account", s.account);
  pair("partition", s.partition);
  line(fmt::format("nodes: {}", s.nodes));
  pair("walltime", s.walltime);
  pair("mem", s.mem);
  pair("gres", s.gres);
  pair("extra", s.extra);
  line(fmt::format("allocate: {{max: {}, min_utilization: 0.5}}", written.at_once));
  return text;
}

Result<std::vector<Edit>> edits_for(std::string_view text, const std::string& file,
                                    const std::vector<WrittenScheduler>& schedulers,
                                    const std::vector<WrittenBinding>& bindings) {
  if (const spec::Form form = spec::form_of(file); form != spec::Form::yaml)
    return invalid(fmt::format("{} is written as {}: only YAML files can be changed", file,
                               form == spec::Form::json5 ? "JSON5" : "KDL"),
                   kByHand);
  const spec::Source source(text, file);
  if (spec::is_script(source))
    return invalid(fmt::format("{} is a script: only YAML files can be changed", file),
                   "add a line #TORC --account NAME --partition NAME; or make YAML of it: `torc "
                   "check FILE --yaml > FILE.yaml`");
  spec::Report report(source);
  const spec::Tree tree = spec::read_yaml(source, report);
  if (tree.root == nullptr || tree.root->kind != NodeKind::map)
    return refused(file, "it is not a map of keys and values");
  std::vector<Edit> edits;
  TORC_ASSIGN(Edit list, edit_of_list(text, file, *tree.root, schedulers));
  edits.push_back(std::move(list));
  const Node* jobs = value_of(*tree.root, "jobs");
  for (const WrittenBinding& binding : bindings) {
    if (jobs == nullptr || jobs->kind != NodeKind::sequence || binding.job >= jobs->items.size())
      return refused(file, "its 'jobs' are not a list");
    TORC_ASSIGN(Edit edit, edit_of_job(text, file, *jobs->items[binding.job], binding));
    edits.push_back(std::move(edit));
  }
  std::erase_if(
      edits, [&](const Edit& edit) { return text.substr(edit.begin, edit.removed) == edit.text; });
  if (text.find("\r\n") != std::string_view::npos) {
    for (Edit& edit : edits)
      edit.text = fmt::format("{}", fmt::join(split(edit.text, '\n'), "\r\n")) +
                  (edit.text.ends_with('\n') ? "\r\n" : "");
  }
  const std::string changed = with_edits(text, edits);
  const spec::Source after(changed, file);
  spec::Report wrong(after);
  const spec::Tree again = spec::read_yaml(after, wrong);
  if (again.root == nullptr || wrong.has_error() ||
      !Comparison(bindings).same_file(*tree.root, *again.root))
    return refused(file, "with schedulers in it, it would mean something else than before");
  return sorted(std::move(edits));
}

std::string with_edits(std::string_view text, std::vector<Edit> edits) {
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : sorted(std::move(edits))) {
    out += text.substr(at, edit.begin - at);
    if (!out.empty() && out.back() != '\n' && edit.begin == text.size()) out += '\n';
    out += edit.text;
    at = edit.begin + edit.removed;
  }
  return out + std::string(text.substr(at));
}

std::string show_edits(std::string_view text, std::vector<Edit> edits) {
  const Lines lines(text);
  const spec::Source source(text, "");
  std::string out;
  for (const Edit& edit : sorted(std::move(edits))) {
    // Whole lines, as they were and as they are.
    const std::size_t begin = lines.begin(edit.begin);
    const bool whole = begin == edit.begin && edit.text.ends_with('\n') &&
                       (edit.removed == 0 || text[edit.begin + edit.removed - 1] == '\n');
    const std::size_t end =
        whole ? edit.begin + edit.removed : lines.end(edit.begin + edit.removed);
    const std::string now =
        std::string(text.substr(begin, edit.begin - begin)) + edit.text +
        std::string(text.substr(edit.begin + edit.removed, end - edit.begin - edit.removed));
    std::size_t number = source.place(begin).line;
    for (const auto line : split(text.substr(begin, end - begin), '\n'))
      out += fmt::format("{:>5} - {}\n", number++, printable(line));
    number = source.place(begin).line;
    for (const auto line : split(now, '\n'))
      out += fmt::format("{:>5} + {}\n", number, printable(line));
  }
  return out;
}

}  // namespace torc::cluster
