
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_tree.h"

namespace torc::spec {
namespace {

std::string shown(const Node& node, std::string indent = "") {
  std::string out = indent + std::to_string(static_cast<int>(node.kind)) + (node.plain ? "" : "q") +
                    " @" + std::to_string(node.offset) + " n" + std::to_string(node.nodes) +
                    (node.closed ? " " : " open ") + node.text + "\n";
  for (const Node* item : node.items) out += shown(*item, indent + "  ");
  return out;
}

std::string generally(const std::string& text) {
  const Source source(text, "wf.yaml");
  Report report(source);
  const Tree tree = read_yaml_generally(source, report);
  return tree.root == nullptr || report.has_error() ? "broken" : shown(*tree.root);
}

std::string quickly(const std::string& text) {
  const Tree tree = read_quickly(text);
  return tree.root == nullptr ? "left" : shown(*tree.root);
}

TEST(QuickYaml, reads_what_most_specs_are_written_in) {
  for (const std::string spec :
       {"name: dag\njobs:\n  - name: a\n    command: run --x 1 && echo 'a b' | cat > $HOME/{i}\n"
        "    depends_on: [b, \"c d\", 'e', f-1.2]\n\n  # more\n  - name: b\n    priority: 10\n",
        "name: dag\njobs:\n- name: a\n  command: c\n  depends_on:\n  - x\n  - y z\nuser: me\n",
        "jobs:\n  - {name: a, command: run --x 1; echo $HOME | cat > b, depends_on: [b, c-1]}\n"
        "  - { name: \"b\" , env: {A: 1, B: [x, {c: d}]}, x: [] , y: {} }\nmetadata: {}\n",
        "a:\n  b:\n    c: 1   \n  d: []\ne: \"x: y # z\"", "a:\n  - - b\n"}) {
    const std::string quick = quickly(spec);
    if (spec == "a:\n  - - b\n") {
      EXPECT_EQ(quick, "left");
    } else {
      EXPECT_EQ(quick, generally(spec)) << spec;
    }
  }
}

TEST(QuickYaml, leaves_what_it_does_not_surely_understand) {
  for (const std::string text : {"",
                                 "# nothing\n",
                                 "a",
                                 "a:\n",
                                 "a: b: c\n",
                                 "a: x # comment\n",
                                 "a: |\n  text\n",
                                 "a: &x b\n",
                                 "a: *x\n",
                                 "<<: b\n",
                                 "a: b\na: c\n",
                                 "a: b\n  c\n",
                                 "\ta: b\n",
                                 "a:\tb\n",
                                 "a: b\r\n",
                                 "---\na: b\n",
                                 "a: b\n---\n",
                                 "a: b\n...\n",
                                 "a: ~\n",
                                 "a: null\n",
                                 "a: [b\n]\n",
                                 "a: {b: c\n}\n",
                                 "a: {b: c, b: d}\n",
                                 "a: {b:c}\n",
                                 "a: {b}\n",
                                 "a: {b: }\n",
                                 "a: {b: c,}\n",
                                 "a: {b: c # d}\n",
                                 "a: {b: c: d}\n",
                                 "a: {<<: b}\n",
                                 "a: {b: c}}\n",
                                 "a: {b: c{d}}\n",
                                 "a: {b: c d\n",
                                 "a: {\"b\": c}\n",
                                 "a: {b: null}\n",
                                 "a: \"b\\n\"\n",
                                 "a: 'it''s'\n",
                                 "a: \"b\" c\n",
                                 "a: [b,]\n",
                                 "a: [null]\n",
                                 "a: ä\n",
                                 "a: !!str b\n",
                                 "? a\n: b\n",
                                 "- a\n",
                                 "a:\n  b: c\n d: e\n",
                                 "a: b\n c: d\n",
                                 "a:\n- b\n  c: d\n",
                                 "%YAML 1.2\na: b\n",
                                 "a: @b\n",
                                 "null: b\n",
                                 "a: [b]: c\n",
                                 "a:\n  b\n",
                                 "a: -\n",
                                 "a:\n  -\n"}) {
    EXPECT_EQ(quickly(text), "left") << text;
  }
}

// Documents such as specs are, of random shape.
class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_(seed) {}

  std::string document() {
    text_.clear();
    map(0, 0);
    if (below(2) == 0) return text_;
    // And with something that does not belong there.
    const std::string_view odd = " \n:-#[],\"'z{}&*!|>~\t";
    text_[below(text_.size())] = odd[below(odd.size())];
    return text_;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  void indent(std::size_t columns) {
    if (below(8) == 0) text_ += below(2) == 0 ? "\n" : "   # a comment\n";
    text_ += std::string(columns, ' ');
  }

  void map(std::size_t column, int depth, bool first_is_placed = false) {
    const std::size_t keys = 1 + below(3);
    for (std::size_t k = 0; k < keys; ++k) {
      if (k > 0 || !first_is_placed) indent(column);
      text_ += "key" + std::to_string(k) + ":";
      value(column, depth);
    }
  }

  void list(std::size_t column, int depth) {
    const std::size_t items = 1 + below(3);
    for (std::size_t i = 0; i < items; ++i) {
      indent(column);
      text_ += "- ";
      if (depth < 3 && below(2) == 0)
        map(column + 2, depth + 1, true);
      else
        scalar();
    }
  }

  void value(std::size_t column, int depth) {
    if (depth < 3 && below(3) == 0) {
      text_ += "\n";
      const std::size_t deeper = column + 1 + below(3);
      if (below(2) == 0)
        map(deeper, depth + 1);
      else
        list(below(2) == 0 ? column : deeper, depth + 1);
      return;
    }
    text_ += " ";
    scalar();
  }

  void scalar() {
    constexpr std::string_view kTexts[] = {"x",
                                           "run --it 'a b' | c && d > /e",
                                           "a:b x#y (z) {i} \"q\"",
                                           "10",
                                           "1.5e3",
                                           "[a, b-1]",
                                           "[ ]",
                                           "{}",
                                           "{a: b, c: [d e, {f: 'g'}] , h: \"i\"}",
                                           "[{a: b -c; d | e > f}, [g]]",
                                           "['x y', \"z, w\",3]",
                                           "\"\"",
                                           "'a: # [b'",
                                           "true",
                                           "x  ",
                                           "./go.sh ; echo $HOME",
                                           "_a"};
    text_ += kTexts[below(std::size(kTexts))];
    text_ += "\n";
  }

  std::mt19937 random_;
  std::string text_;
};

// Whatever is not left must be the same.
TEST(QuickYaml, means_what_the_general_parser_means) {
  std::size_t read = 0;
  std::size_t left = 0;
  rc::check([&](std::uint32_t seed) {
    Writer writer(seed);
    for (int i = 0; i < 30; ++i) {
      const std::string text = writer.document();
      const std::string quick = quickly(text);
      ++(quick == "left" ? left : read);
      if (quick != "left" && quick != generally(text)) {
        ADD_FAILURE() << text << "\nquickly\n" << quick << "\ngenerally\n" << generally(text);
        RC_FAIL("not the same");
      }
    }
  });
  EXPECT_GT(read, left / 2) << "left " << left;
}

}  // namespace
}  // namespace torc::spec
