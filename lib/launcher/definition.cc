#include "lib/launcher/definition.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <functional>
#include <map>

#include "lib/base/number.h"
#include "lib/base/text/quote.h"
#include "lib/spec/yaml/yaml_node.h"
#include "lib/spec/yaml/yaml_tree.h"

namespace torc::launcher {
namespace {

using spec::Node;
using spec::NodeKind;
using Words = std::vector<std::string>;

// What a word may hold in braces; other braces are text.
constexpr std::string_view kPlaceholder = R"(\{([a-z]+)\})";

class Reader {
 public:
  Reader(const spec::Source& source, spec::Report& report) : source_(source), report_(report) {}

  std::optional<Definition> read(const Node& root) {
    Definition d;
    map(root, {{"launcher", [&](const Node& n) { d.launcher = text(n); }},
               {"name", [&](const Node& n) { read_name(n, d); }},
               {"submit", [&](const Node& n) { read_submit(n, d); }},
               {"list", [&](const Node& n) { read_list(n, d); }},
               {"accounting",
                [&](const Node& n) {
                  map(n, with_answer(d.accounting.emplace(),
                                     {{"since", [&](const Node& s) { d.since = text(s); }}},
                                     {"user", "since"}));
                }},
               {"cancel", [&](const Node& n) { read_cancel(n, d); }},
               {"script", [&](const Node& n) { read_script(n, d); }},
               {"cluster", [&](const Node& n) { read_cluster(n, d); }}});
    need(root, !d.launcher.empty(), "launcher", "launcher: mysystem");
    need(root, !d.submit.empty(), "submit: command", "submit: {command: [qsub, '{script}'], …}");
    need(root, !!d.accepted, "submit: accepted", R"(accepted: '^(\d+)$')");
    need(root, !d.cancel.empty(), "cancel: command", "cancel: {command: [qdel, '{ids}']}");
    check(root, d.queue, "list");
    if (d.accounting) check(root, *d.accounting, "accounting");
    need(root, !d.queue.fields.state || !d.stages.empty(), "list: stages",
         "stages: {waits: [qw], runs: [r], over: [z]}");
    need(root, !!d.queue.fields.state, "list: fields: state", R"(state: 'state=(\w+)')");
    need(root, !d.id_variable.empty(), "script: id", "script: {directive: '#$', id: JOB_ID}");
    if (report_.has_error()) return std::nullopt;
    return d;
  }

 private:
  using Keys = std::map<std::string, std::function<void(const Node&)>, std::less<>>;

  void wrong(const Node& node, std::string message, std::string remedy) {
    report_.error(spec::place_of(source_, node), std::move(message), std::move(remedy));
  }
  void need(const Node& root, bool given, std::string_view key, std::string_view example) {
    if (!given)
      wrong(root, fmt::format("the launcher has no '{}'", key), fmt::format("write {}", example));
  }
  void check(const Node& root, const Answer& answer, std::string_view key) {
    need(root, !answer.command.empty(), fmt::format("{}: command", key), "command: [qstat]");
    need(root, !!answer.record, fmt::format("{}: record", key), "record: '(?m)^.*$'");
    need(root, !!answer.fields.id, fmt::format("{}: fields: id", key), R"(id: '^(\d+)')");
    need(root, answer.begins || answer.ends, fmt::format("{}: begins or ends", key),
         "what a whole answer begins or ends with, without which an empty one says nothing");
    need(root, answer.fields.name || answer.fields.intent, fmt::format("{}: fields: name", key),
         R"(name: 'name=(\S+)')");
  }

  void map(const Node& node, const Keys& keys) {
    if (node.kind != NodeKind::map) {
      wrong(node, "this is not a map", "write KEY: VALUE pairs");
      return;
    }
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const auto found = keys.find(node.items[i]->text);
      if (found != keys.end()) {
        found->second(*node.items[i + 1]);
        continue;
      }
      std::string known;
      for (const auto& [key, reads] : keys) known += (known.empty() ? "" : ", ") + key;
      wrong(*node.items[i], fmt::format("unknown key {}", torc::quoted(node.items[i]->text)),
            fmt::format("there are {}", known));
    }
  }
  std::string text(const Node& node) {
    if (node.kind == NodeKind::scalar) return node.text;
    wrong(node, "this is not a text", "write a text, in quotes if it has special characters");
    return {};
  }
  Words list(const Node& node) {
    if (node.kind == NodeKind::scalar) return {node.text};
    Words words;
    if (node.kind != NodeKind::sequence) {
      wrong(node, "this is not a list", "write [one, two]");
      return words;
    }
    for (const Node* item : node.items) words.push_back(text(*item));
    return words;
  }
  // The words of a command, with these placeholders at most.
  Template command(const Node& node, const Words& placeholders) {
    if (node.kind != NodeKind::sequence || node.items.empty()) {
      wrong(node, "this is not a command", "write its words as a list: [qstat, -u, '{user}']");
      return {};
    }
    Template words = list(node);
    for (std::size_t i = 0; i < words.size() && i < node.items.size(); ++i) {
      const Words found = check_placeholders(*node.items[i], words[i], placeholders);
      // A shell would take the path apart, or do what it says.
      const bool has_path = std::ranges::find(found, "script") != found.end();
      const std::size_t at = words[i].find("{script}");
      const bool is_alone = at == 0 || (at != std::string::npos && words[i][at - 1] == '=');
      if (has_path && (!is_alone || words[i].size() != at + 8))
        wrong(*node.items[i], "{script} stands in a word that has something else",
              "give it as a word of its own: [sh, -c, 'qsub \"$1\"', sh, '{script}']");
    }
    return words;
  }
  // Those that the word has.
  Words check_placeholders(const Node& node, const std::string& word, const Words& placeholders) {
    static const RE2 kIn{re2::StringPiece(kPlaceholder.data(), kPlaceholder.size())};
    Words found;
    re2::StringPiece rest(word);
    std::string name;
    while (RE2::FindAndConsume(&rest, kIn, &name)) {
      found.push_back(name);
      if (std::ranges::find(placeholders, name) != placeholders.end()) continue;
      std::string known;
      for (const auto& one : placeholders)
        known += fmt::format("{}{{{}}}", known.empty() ? "" : ", ", one);
      wrong(node, fmt::format("{{{}}} stands for nothing here", name),
            known.empty() ? "there are no placeholders here" : "there are " + known);
    }
    return found;
  }
  Pattern pattern(const Node& node, int groups) {
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(1 << 20);
    auto compiled = std::make_shared<RE2>(text(node), options);
    if (!compiled->ok()) {
      wrong(node, fmt::format("this is not a regular expression: {}", compiled->error()),
            "write it in RE2's syntax, and in single quotes, where '\\' needs no doubling");
      return nullptr;
    }
    if (compiled->NumberOfCapturingGroups() < groups) {
      wrong(node, "the expression has no group", "put what is meant in brackets: 'id=(\\d+)'");
      return nullptr;
    }
    return compiled;
  }
  Patterns patterns(const Node& node) {
    Patterns all;
    if (node.kind == NodeKind::scalar) return {pattern(node, 0)};
    if (node.kind != NodeKind::sequence) {
      wrong(node, "this is not a list of expressions", "write ['one', 'two']");
      return all;
    }
    for (const Node* item : node.items) {
      if (auto one = pattern(*item, 0)) all.push_back(std::move(one));
    }
    return all;
  }

  Keys with_answer(Answer& a, Keys more, const Words& placeholders) {
    const auto field = [&a, this](Pattern Answer::Fields::*which) {
      return [&a, this, which](const Node& n) { a.fields.*which = pattern(n, 1); };
    };
    Keys keys{{"command",
               [&a, this, placeholders](const Node& n) { a.command = command(n, placeholders); }},
              {"continued", [&a, this](const Node& n) { a.continued = text(n); }},
              {"begins", [&a, this](const Node& n) { a.begins = pattern(n, 0); }},
              {"ends", [&a, this](const Node& n) { a.ends = pattern(n, 0); }},
              {"none", [&a, this](const Node& n) { a.none = pattern(n, 0); }},
              {"record", [&a, this](const Node& n) { a.record = pattern(n, 0); }},
              {"others", [&a, this](const Node& n) { a.others = patterns(n); }},
              {"times", [&a, this](const Node& n) { a.times = text(n); }},
              {"fields", [field, this](const Node& n) {
                 map(n, {{"id", field(&Answer::Fields::id)},
                         {"name", field(&Answer::Fields::name)},
                         {"intent", field(&Answer::Fields::intent)},
                         {"state", field(&Answer::Fields::state)},
                         {"reason", field(&Answer::Fields::reason)},
                         {"user", field(&Answer::Fields::user)},
                         {"submitted", field(&Answer::Fields::submitted)},
                         {"start", field(&Answer::Fields::start)},
                         {"end", field(&Answer::Fields::end)},
                         {"nodes", field(&Answer::Fields::nodes)}});
               }}};
    keys.merge(more);
    return keys;
  }

  void read_name(const Node& node, Definition& d) {
    map(node, {{"prefix", [&](const Node& n) { d.prefix = text(n); }},
               {"longest", [&](const Node& n) {
                  const auto number = whole_number<std::uint32_t>(text(n));
                  if (!number || *number == 0)
                    wrong(n, "this is not a number of bytes", "write how long a name can be: 128");
                  d.longest = number.value_or(0);
                }}});
  }
  void read_submit(const Node& node, Definition& d) {
    map(node, {{"command",
                [&](const Node& n) {
                  d.submit = command(n, {"name", "intent", "script", "exclude"});
                }},
               {"accepted", [&](const Node& n) { d.accepted = pattern(n, 1); }},
               {"refused", [&](const Node& n) { d.refused = patterns(n); }},
               {"later", [&](const Node& n) { d.later = patterns(n); }},
               {"not_from_here", [&](const Node& n) { d.not_from_here = patterns(n); }},
               {"exclude", [&](const Node& n) {
                  Exclusion& e = d.exclude.emplace();
                  map(n, {{"words", [&](const Node& w) { e.words = command(w, {"nodes"}); }},
                          {"each", [&](const Node& w) { e.each = text(w); }},
                          {"join", [&](const Node& w) { e.join = text(w); }}});
                }}});
  }
  void read_list(const Node& node, Definition& d) {
    map(node,
        with_answer(d.queue, {{"stages", [&](const Node& n) { read_stages(n, d); }}}, {"user"}));
  }
  void read_stages(const Node& node, Definition& d) {
    const auto stage = [&](slurm::Stage which) {
      return [&, which](const Node& n) {
        for (auto& one : patterns(n)) d.stages.emplace_back(std::move(one), which);
      };
    };
    map(node, {{"waits", stage(slurm::Stage::waits)},
               {"runs", stage(slurm::Stage::runs)},
               {"over", stage(slurm::Stage::over)}});
  }
  void read_cancel(const Node& node, Definition& d) {
    map(node, {{"command",
                [&](const Node& n) {
                  d.cancel = command(n, {"ids"});
                  if (std::ranges::find(d.cancel, "{ids}") == d.cancel.end())
                    wrong(n, "the command has no word '{ids}'", "write [qdel, '{ids}']");
                }},
               {"past", [&](const Node& n) { d.past = patterns(n); }}});
  }
  void read_script(const Node& node, Definition& d) {
    map(node, {{"directive", [&](const Node& n) { d.directive = text(n); }},
               {"options", [&](const Node& n) { d.options = list(n); }},
               {"walltime",
                [&](const Node& n) {
                  d.walltime = text(n);
                  (void)check_placeholders(n, d.walltime, {"seconds", "minutes"});
                }},
               {"id", [&](const Node& n) { d.id_variable = variable(n, "JOB_ID"); }},
               {"cpus", [&](const Node& n) { d.cpus_variable = variable(n, "NSLOTS"); }}});
  }
  std::string variable(const Node& node, std::string_view example) {
    std::string name = text(node);
    static const RE2 kVariable("[A-Za-z_][A-Za-z0-9_]*");
    if (!RE2::FullMatch(name, kVariable))
      wrong(node, "this is not the name of a variable", fmt::format("write {}", example));
    return name;
  }
  void read_cluster(const Node& node, Definition& d) {
    map(node, {{"command", [&](const Node& n) { d.cluster = command(n, {}); }},
               {"name", [&](const Node& n) { d.cluster_name = pattern(n, 1); }}});
  }

  const spec::Source& source_;
  spec::Report& report_;
};

}  // namespace

std::optional<Definition> read_definition(const spec::Source& source, spec::Report& report) {
  if (source.text().size() > kMostDefinitionBytes) {
    report.error({}, "the file is too long for a launcher", "give a file that describes one");
    return std::nullopt;
  }
  const spec::Tree tree = spec::read_yaml(source, report);
  if (tree.root == nullptr) {
    if (!report.has_error())
      report.error({}, "the launcher is empty", "docs/user/launchers.md says what it holds");
    return std::nullopt;
  }
  return Reader(source, report).read(*tree.root);
}

}  // namespace torc::launcher
