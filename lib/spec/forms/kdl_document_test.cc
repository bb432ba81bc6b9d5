// What KDL says of each of its rules, in version 2 and in version 1: good texts by their nodes,
// others by what is said of them.
#include "lib/spec/forms/kdl_document.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

std::string kdl_shown(const KdlValue& v) {
  if (v.kind == KdlValue::Kind::text) return '"' + v.text + '"';
  return v.kind == KdlValue::Kind::number ? v.text : "#" + v.text;
}

std::string kdl_shown(const std::vector<KdlNode>& nodes) {
  std::string out;
  for (const KdlNode& node : nodes) {
    if (!out.empty()) out += "; ";
    out += node.name;
    for (const KdlValue& v : node.arguments) out += " " + kdl_shown(v);
    for (const KdlProperty& p : node.properties) out += " " + p.name + "=" + kdl_shown(p.value);
    if (node.has_block) out += " {" + kdl_shown(node.children) + "}";
  }
  return out;
}

std::string kdl(std::string_view text) {
  const Source source(without_bom(text), "f");
  Report report(source);
  const auto document = read_kdl(source, report);
  if (document) return kdl_shown(document->nodes);
  const Diagnostic first = std::move(report).sorted().front();
  return std::to_string(first.place.line) + ":" + std::to_string(first.place.column) + "+" +
         std::to_string(first.place.length) + " " + first.message;
}

struct KdlCase {
  std::string_view text;
  std::string_view nodes;
};

void expect_kdl(std::span<const KdlCase> cases) {
  for (const KdlCase& c : cases) EXPECT_EQ(kdl(c.text), c.nodes) << c.text;
}

TEST(Kdl, reads_nodes_with_values_properties_and_blocks) {
  constexpr KdlCase kCases[] = {
      {"", ""},
      {"\n\n", ""},
      {"a", "a"},
      {"a 1 \"b\" c=#true d=e", "a 1 \"b\" c=#true d=\"e\""},
      {"a; b;c", "a; b; c"},
      {"a {b; c}", "a {b; c}"},
      {"a { b { c } }\nd", "a {b {c}}; d"},
      {"a {\n}\nb {}", "a {}; b {}"},
      {"a{b}", "a {b}"},
      {"a { b };c", "a {b}; c"},
      {"\"a b\" \"c d\"=1", "a b c d=1"},
      {"a b = 1", "a b=1"},
      {"a b=1 b=2", "a b=1 b=2"},
      {"\"\" \"\"", " \"\""},
      {"a\r\nb\rc\u0085d\u000Be\u000Cf\u2028g\u2029h", "a; b; c; d; e; f; g; h"},
      {"a\u00A0b\u3000c", "a \"b\" \"c\""},
      {"\uFEFFa", "a"},
      {"<a> a,b", "<a> \"a,b\""},
      {"- 1; -- 2; a.b -c .", "- 1; -- 2; a.b \"-c\" \".\""},
      {"a\"b\"", "1:2+1 not valid KDL: a blank is missing here"},
      {"a \"b\"\"c\"", "1:6+1 not valid KDL: a blank is missing here"},
      {"a {b} c", "1:7+1 not valid KDL: something follows the block of this node"},
      {"a {} {}", "1:6+1 not valid KDL: a second block of one node"},
      {"a {", "1:3+1 not valid KDL: this '{' is not closed"},
      {"}", "1:1+1 not valid KDL: this '}' closes nothing"},
      {"{a}", "1:1+1 not valid KDL: '{' where the name of a node is missing"},
      {"a b=", "1:5+1 not valid KDL: the file ends where a value is missing"},
      {"a =1", "1:3+1 not valid KDL: '=' where a value is missing"},
      {"a 1=2", "1:3+1 not valid KDL: this cannot be the name of a property"},
      {"a #true=2", "1:3+5 not valid KDL: this cannot be the name of a property"},
      {"1 a", "1:1+1 not valid KDL: a node begins with its name"},
      {"true a", "1:1+4 not valid KDL: 'true' is not a name"},
      {"# a", "1:1+1 not valid KDL: a node begins with its name"},
      {"a [1]", "1:3+1 not valid KDL: '[' where a value is missing"},
      {"a 'b'c", "a \"'b'c\""},
      {"a b#c", "1:4+1 not valid KDL: a blank is missing here"},
  };
  expect_kdl(kCases);
}

TEST(Kdl, passes_over_comments_and_what_is_commented_out) {
  constexpr KdlCase kCases[] = {
      {"// a\nb // c\n//\nd", "b; d"},
      {"/* a /* b */ c */ d /* e */ 1", "d 1"},
      {"a /*\n*/ 1", "a 1"},
      {"/-a 1 {b}\nc", "c"},
      {"/- a\nb", "b"},
      {"a /-1 2", "a 2"},
      {"a 1/-2", "a 1"},
      {"a /-b=1 2", "a 2"},
      {"a /-{b}", "a"},
      {"a /-{b} {c} /-{d}", "a {c}"},
      {"a {/-b; c}", "a {c}"},
      {"a /- // x\n1 2", "a 2"},
      {"/-\n\na\nb", "b"},
      {"/- kdl-version 2\na", "a"},
      {"a \\\n  1", "a 1"},
      {"a \\ // b\n 1", "a 1"},
      {"a \\\n\\\n1", "a 1"},
      {"a \\", "a"},
      {"\\\na", "a"},
      {"a \\ b", "1:3+1 not valid KDL: a '\\' that is not the last of its line"},
      {"/* /* */", "1:1+2 not valid KDL: this comment is never closed"},
      {"/-", "1:3+1 not valid KDL: the file ends where the name of a node is missing"},
      {"a {/-}", "1:6+1 not valid KDL: '}' where the name of a node is missing"},
  };
  expect_kdl(kCases);
}

TEST(Kdl, reads_numbers_of_every_base_as_decimal_ones) {
  constexpr KdlCase kCases[] = {
      {"a 0 -0 +5 007 1_000 1__0_", "a 0 -0 5 7 1000 10"},
      {"a 1.5 -1.50 1.0e10 1E-3 1e+3 1_0.0_1 1.e",
       "1:38+3 not valid KDL: a number without a digit "
       "where one must be"},
      {"a 1.5 -1.50 1.0e10 1E-3 1e+3 1_0.0_1", "a 1.5 -1.50 1.0e10 1e-3 1e+3 10.01"},
      {"a 0x1F -0xff 0o17 0b1_01 0x0_", "a 31 -255 15 5 0"},
      {"a 0xFFFFFFFFFFFFFFFF", "a 18446744073709551615"},
      {"a 0x1FFFFFFFFFFFFFFFF", "1:3+19 not valid KDL: a number beyond 64 bits"},
      {"a #inf #-inf #nan", "a Infinity -Infinity NaN"},
      {"a inf", "1:3+3 not valid KDL: 'inf' is not a value"},
      {"a -inf", "1:3+4 not valid KDL: '-inf' is not a value"},
      {"a .5", "1:3+2 not valid KDL: '.5' is not a number"},
      {"a +.5", "1:3+3 not valid KDL: '+.5' is not a number"},
      {"a 0x", "1:3+2 not valid KDL: no digit of base 16 follows"},
      {"a 0x_1", "1:3+3 not valid KDL: no digit of base 16 follows"},
      {"a 0xg", "1:3+3 not valid KDL: no digit of base 16 follows"},
      {"a 0b12", "1:3+4 not valid KDL: 0b12 is not a number"},
      {"a 0o8", "1:3+3 not valid KDL: no digit of base 8 follows"},
      {"a 1e", "1:3+2 not valid KDL: a number without a digit where one must be"},
      {"a 1._5", "1:3+4 not valid KDL: a number without a digit where one must be"},
      {"a 1.2.3", "1:3+5 not valid KDL: 1.2.3 is not a number"},
      {"a 10abc", "1:3+5 not valid KDL: 10abc is not a number"},
  };
  expect_kdl(kCases);
}

TEST(Kdl, reads_words_of_version_1_and_2) {
  constexpr KdlCase kCases[] = {
      {"a #true #false #null", "a #true #false #null"},
      {"a true false null", "a #true #false #null"},
      {"a b=true c=null", "a b=#true c=#null"},
      {"a truex \"true\"", "a \"truex\" \"true\""},
      {"a #yes", "1:3+4 not valid KDL: #yes is not a word of KDL"},
      {"a #", "1:3+1 not valid KDL: # is not a word of KDL"},
  };
  expect_kdl(kCases);
}

TEST(Kdl, reads_texts_with_escapes) {
  constexpr KdlCase kCases[] = {
      {R"(a "\n\r\t\\\"\b\f\s")", "a \"\n\r\t\\\"\b\f \""},
      {R"(a "\/")", "a \"/\""},
      {R"(a "\u{41}\u{1F600}\u{00e9}")", "a \"A😀é\""},
      {"a \"b\\  \n   c\"", "a \"bc\""},
      {"a \"b\\ c\"", "a \"bc\""},
      {"a \"b\nc\"", "a \"b\nc\""},  // of version 1
      {R"(a "\x41")", "1:3+6 not valid KDL: \\x41 is not an escape"},
      {R"(a "\u0041")", "1:3+8 not valid KDL: an escape of no character"},
      {R"(a "\u{}")", "1:3+6 not valid KDL: an escape of no character"},
      {R"(a "\u{1234567}")", "1:3+13 not valid KDL: an escape of no character"},
      {R"(a "\u{D800}")", "1:3+10 not valid KDL: an escape of no character"},
      {R"(a "\u{110000}")", "1:3+12 not valid KDL: an escape of no character"},
      {"a \"b", "1:3+1 not valid KDL: this \" is never closed"},
      {"a \"b\\\"", "1:3+1 not valid KDL: this \" is never closed"},
  };
  expect_kdl(kCases);
}

TEST(Kdl, reads_raw_texts_of_both_versions) {
  constexpr KdlCase kCases[] = {
      {R"(a #"b\n"c"#)", R"(a "b\n"c")"},
      {R"(a ##"b"#c"##)", R"(a "b"#c")"},
      {R"(a r"b\n")", R"(a "b\n")"},
      {R"(a r#"b"c"#)", R"(a "b"c")"},
      {R"(a #""#)", R"(a "")"},
      {R"(r#"a b"# r)", R"(a b "r")"},
      {R"(a #"b")", "1:3+2 not valid KDL: this #\" is never closed"},
      {R"(a #"b"##)", "1:8+1 not valid KDL: a blank is missing here"},
  };
  expect_kdl(kCases);
}

TEST(Kdl, reads_texts_over_several_lines) {
  constexpr KdlCase kCases[] = {
      {"a \"\"\"\nb\nc\n\"\"\"", "a \"b\nc\""},
      {"a \"\"\"\n    b\n      c\n    \"\"\"", "a \"b\n  c\""},
      {"a \"\"\"\n  b\n\n \n  c\n  \"\"\"", "a \"b\n\n\nc\""},
      {"a \"\"\"\r\n  b\r\n  c\r\n  \"\"\"", "a \"b\nc\""},
      {"a \"\"\"\n\"\"\"", "a \"\""},
      {"a \"\"\"\n  b \\\n     c\\nd\n  \"\"\"", "a \"b c\nd\""},
      {"a \"\"\"\n  \\\"\"\"\n  \"\"\"", "a \"\"\"\"\""},
      {"a #\"\"\"\n  b\\n\n  \"\"\"#", "a \"b\\n\""},
      {"a \"\"\"b\n\"\"\"", "1:3+4 not valid KDL: text follows this \"\"\" on its line"},
      {"a \"\"\"b\"\"\"", "1:3+7 not valid KDL: a line end must follow this \"\"\""},
      {"a \"\"\"\nb\"\"\"",
       "1:3+3 not valid KDL: the closing \"\"\" does not stand alone on its line"},
      {"a \"\"\"\n  b\n c\n  \"\"\"",
       "1:3+3 not valid KDL: a line of this text is indented less than its closing \"\"\""},
      {"a \"\"\"\nb", "1:3+3 not valid KDL: this \"\"\" is never closed"},
  };
  expect_kdl(kCases);
}

TEST(Kdl, reads_types_and_says_where_the_first_stands) {
  constexpr KdlCase kCases[] = {
      {"(t)a (u8)1 b=(\"t\")\"c\"", "a 1 b=\"c\""},
      {"( t ) a (t) 1", "a 1"},
      {"a ()1", "1:4+1 not valid KDL: ')' where the name of a type is missing"},
      {"a (t 1", "1:3+1 not valid KDL: this '(' is not closed"},
      {"a (t)b=1", "1:3+1 not valid KDL: a type in front of the name of a property"},
  };
  expect_kdl(kCases);
  const Source source("a\nb (t)1", "f");
  Report report(source);
  const auto document = read_kdl(source, report);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->annotation, 4);
}

TEST(Kdl, more_than_the_limits_of_a_tree_is_told_by_the_limit) {
  std::string deep;
  for (int i = 0; i < 1'000; ++i) deep += "a{";
  EXPECT_EQ(kdl(deep), "1:128+1 not valid KDL: nested more than 64 deep");
  EXPECT_EQ(kdl("a \"" + std::string((1U << 20U) + 1, 'x') + "\"").substr(0, 44),
            "1:3+1 not valid KDL: a text of more than 1 M");
  EXPECT_EQ(kdl("a \x01"), "1:3+1 control character U+0001");
  EXPECT_EQ(kdl("a \u202E"), "1:3+1 direction character U+202E");
}

}  // namespace
}  // namespace torc::spec
