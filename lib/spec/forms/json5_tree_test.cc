// What JSON5 says of each of its rules: good texts by their trees, others by what is said of them.
#include "lib/spec/forms/json5_tree.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "lib/base/text/utf8.h"
#include "lib/spec/testing/test_tree.h"

namespace torc::spec {
namespace {

std::string json5(std::string_view text) {
  const Source source(without_bom(text), "f");
  Report report(source);
  const Tree tree = read_json5(source, report);
  if (!report.has_error()) return one_line(tree.root);
  const Diagnostic first = std::move(report).sorted().front();
  return std::to_string(first.place.line) + ":" + std::to_string(first.place.column) + "+" +
         std::to_string(first.place.length) + " " + first.message;
}

struct Json5Case {
  std::string_view text;
  std::string_view tree;
};

void expect_json5(std::span<const Json5Case> cases) {
  for (const Json5Case& c : cases) EXPECT_EQ(json5(c.text), c.tree) << c.text;
}

TEST(Json5, reads_maps_and_lists_with_and_without_a_last_comma) {
  constexpr Json5Case kCases[] = {
      {"{}", "{}"},
      {"[]", "[]"},
      {"{a: 1,}", "{a:1}"},
      {"[1, 2,]", "[1,2]"},
      {"{\"a\": [true, false, null], 'b': {c: \"x\"}}", "{a:[true,false,null],b:{c:\"x\"}}"},
      {"[,]", "1:2+1 not valid JSON5: a value is missing before ','"},
      {"[1,,2]", "1:4+1 not valid JSON5: a value is missing before ','"},
      {"{,}", "1:2+1 not valid JSON5: ',' is not a key"},
      {"[1 2]", "1:4+1 not valid JSON5: a comma is missing before this element"},
      {"{a: 1 b: 2}", "1:7+1 not valid JSON5: a comma is missing before this key"},
      {"{a 1}", "1:2+1 not valid JSON5: no ':' follows the key 'a'"},
      {"[a: 1]", "1:2+1 not valid JSON5: 'a' is not a value"},
      {"['a': 1]", "1:5+1 not valid JSON5: a ':' that follows no key"},
      {"{a: [1}", "1:7+1 not valid JSON5: a comma is missing before this element"},
      {"{a: 1", "1:1+1 not valid JSON5: this '{' is not closed"},
      {"[1,", "1:1+1 not valid JSON5: this '[' is not closed"},
      {"{a:", "1:4+1 not valid JSON5: the file ends where a value is missing"},
      {"{} {}", "1:4+1 not valid JSON5: something follows the end of the first value"},
      {"", "nothing"},
      {" \n", "nothing"},
      {"{a: 1, 'a': 2}", "1:8+3 duplicate key 'a'"},
  };
  expect_json5(kCases);
}

TEST(Json5, passes_over_comments_and_every_kind_of_blank) {
  constexpr Json5Case kCases[] = {
      {"// one\n[1] // two", "[1]"},
      {"/* one\n * two */[/**/1/***/]", "[1]"},
      {"// ended by a separator\u2028[1]\u2029", "[1]"},
      {"// ended by CR\r[1]", "[1]"},
      {"\t\v\f \u00A0\uFEFF\u2003\n\r\n[1]", "[1]"},
      {"\uFEFF[1]", "[1]"},
      {"['//', \"/* */\"]", "[\"//\",\"/* */\"]"},
      {"/* [1]", "1:1+2 not valid JSON5: this comment is never closed"},
      {"/* /* */ */ [1]", "1:10+1 not valid JSON5: a value is missing before '*'"},
      {"# no\n[1]", "1:1+1 not valid JSON5: '#' begins no comment"},
      {"{# no\n}", "1:2+1 not valid JSON5: '#' begins no comment"},
      {"// alone", "nothing"},
  };
  expect_json5(kCases);
}

TEST(Json5, reads_names_without_quotes) {
  constexpr Json5Case kCases[] = {
      {"{a1: 1, $_: 2, _$0: 3}", "{a1:1,$_:2,_$0:3}"},
      {"{null: 1, true: 2, Infinity: 3, NaN: 4, while: 5}",
       "{null:1,true:2,Infinity:3,NaN:4,while:5}"},
      {"{\\u0061b: 1, sig\\u03A3ma: 2}", "{ab:1,sigΣma:2}"},
      {"{ünïcödé: 1, 名: 2}", "{ünïcödé:1,名:2}"},
      {"{10twenty: 1}", "1:2+8 not valid JSON5: '10twenty' is not a key"},
      {"{multi-word: 1}", "1:2+5 not valid JSON5: no ':' follows the key 'multi'"},
      {"{\\x61: 1}", "1:2+1 not valid JSON5: a backslash in a name without quotes"},
      {"{a\\u0020b: 1}", "1:3+6 not valid JSON5: an escape of what no name may have"},
      {"{→: 1}", "1:2+1 not valid JSON5: '→' is not a key"},
  };
  expect_json5(kCases);
}

TEST(Json5, reads_numbers_of_every_form_as_decimal_ones) {
  constexpr Json5Case kCases[] = {
      {"[0, -0, +0, 15, -15, +15]", "[0,-0,0,15,-15,15]"},
      {"[.5, -.5, 5., 1.2, 1.20, +1.5]", "[0.5,-0.5,5,1.2,1.20,1.5]"},
      {"[1e3, 1E3, 1e+3, 1e-3, 5.e4, .5e-2, 0e23]", "[1e3,1e3,1e+3,1e-3,5e4,0.5e-2,0e23]"},
      {"[0x1F, 0Xc8, -0xC8, +0xC8, 0x0]", "[31,200,-200,200,0]"},
      {"[0xFFFFFFFFFFFFFFFF]", "[18446744073709551615]"},
      {"[0x10000000000000000]", "1:2+19 not valid JSON5: a number beyond 64 bits"},
      {"[Infinity, -Infinity, +Infinity, NaN, -NaN]", "[Infinity,-Infinity,Infinity,NaN,NaN]"},
      {"[010]", "1:2+3 not valid JSON5: a number with leading zeros"},
      {"[-098]", "1:2+4 not valid JSON5: a number with leading zeros"},
      {"[08]", "1:2+2 not valid JSON5: a number with leading zeros"},
      {"[.]", "1:2+1 not valid JSON5: a number without digits"},
      {"[+]", "1:2+1 not valid JSON5: a number without digits"},
      {"[--1]", "1:2+1 not valid JSON5: a number without digits"},
      {"[+ 1]", "1:2+1 not valid JSON5: a number without digits"},
      {"[0x]", "1:2+2 not valid JSON5: a hexadecimal number without digits"},
      {"[1e]", "1:2+2 not valid JSON5: an exponent without digits"},
      {"[1e+]", "1:2+3 not valid JSON5: an exponent without digits"},
      {"[1.2.3]", "1:2+5 not valid JSON5: 1.2.3 is not a number"},
      {"[0x1G]", "1:2+4 not valid JSON5: 0x1G is not a number"},
      {"[1_000]", "1:2+5 not valid JSON5: 1_000 is not a number"},
      {"[Infinityx]", "1:2+9 not valid JSON5: Infinityx is not a number"},
      {"[1e2.3]", "1:2+5 not valid JSON5: 1e2.3 is not a number"},
  };
  expect_json5(kCases);
}

TEST(Json5, reads_texts_in_both_kinds_of_quotes_with_all_escapes) {
  constexpr Json5Case kCases[] = {
      {R"(['a "b"', "a 'b'"])", R"(["a "b"","a 'b'"])"},
      {R"(['\'', "\"", '\\', '\/'])", R"(["'",""","\","/"])"},
      {R"(['\x41\u00e9\ud83d\ude00'])", "[\"Aé😀\"]"},
      {R"(['\a\c\q'])", "[\"acq\"]"},
      {"['a\\\nb', 'a\\\r\nb', 'a\\\rb', 'a\\\u2028b']", "[\"ab\",\"ab\",\"ab\",\"ab\"]"},
      {"['a\u2028b\u2029c']", "[\"a\u2028b\u2029c\"]"},
      {"['\\b\\f\\n\\r\\t\\v']", "[\"\b\f\n\r\t\v\"]"},
      {"['a\nb']", "1:2+1 not valid JSON5: this ' is not closed on its line"},
      {"[\"a", "1:2+1 not valid JSON5: this \" is not closed on its line"},
      {"['a\\", "1:2+1 not valid JSON5: this ' is not closed on its line"},
      {R"(['\x4'])", "1:3+3 not valid JSON5: an escape with fewer than 2 hexadecimal digits"},
      {R"(['\u12g4'])", "1:3+4 not valid JSON5: an escape with fewer than 4 hexadecimal digits"},
      {R"(['\ud83d'])", "1:3+6 not valid JSON5: half of a pair of escapes"},
      {R"(['\ude00'])", "1:3+6 not valid JSON5: half of a pair of escapes"},
      {R"(['\1'])", "1:3+2 not valid JSON5: an escape with a decimal digit"},
      {R"(['\01'])", "1:3+2 not valid JSON5: an escape with a decimal digit"},
      {R"(['\0'])", "1:2+4 not valid JSON5: a text with a NUL character"},
  };
  expect_json5(kCases);
}

// In the file: '\'' and "\"" are texts of one sign, and the separators are signs like others.
TEST(Json5, a_value_is_underlined_as_it_stands_in_the_file) {
  const std::string_view text = "{\n  a: 'it\\'s', b: 0x1F,\n  c: [\n]}";
  const Source source(text, "f");
  Report report(source);
  const Tree tree = read_json5(source, report);
  ASSERT_NE(tree.root, nullptr);
  const auto place = [&](std::size_t i) {
    const Place p = place_of(source, *tree.root->items[i]);
    return std::to_string(p.line) + ":" + std::to_string(p.column) + "+" + std::to_string(p.length);
  };
  EXPECT_EQ(place(0), "2:3+1");
  EXPECT_EQ(place(1), "2:6+7");
  EXPECT_EQ(place(3), "2:18+4");
  EXPECT_EQ(place(5), "3:6+1");
}

TEST(Json5, a_text_is_never_taken_for_a_number_or_true) {
  const Source source("['5', 5, 'true', true]", "f");
  Report report(source);
  const Tree tree = read_json5(source, report);
  ASSERT_NE(tree.root, nullptr);
  const bool expected[] = {false, true, false, true};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(tree.root->items[i]->plain, expected[i]) << i;
}

TEST(Json5, more_than_the_limits_of_a_tree_is_told_by_the_limit) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_NE(one_line(nullptr), json5(deep));
  EXPECT_EQ(json5("[" + deep + "]"), "1:65+1 not valid JSON5: nested more than 64 deep");
  EXPECT_EQ(json5(std::string(1'000'000, '[')), "1:65+1 not valid JSON5: nested more than 64 deep");
  EXPECT_EQ(json5("['" + std::string((1U << 20U) + 1, 'x') + "']").substr(0, 50),
            "1:2+1048579 not valid JSON5: a text of more than 1");
  EXPECT_EQ(json5("[\x01]"), "1:2+1 control character U+0001");
  EXPECT_EQ(json5("[\xFF]"), "1:2+1 byte 0xff is not UTF-8");
}

// JSON is a part of JSON5: another reader must find the same in it.
TEST(Json5, reads_json_as_json) {
  for (const std::string_view text :
       {R"({"a":[1,2.5,-3e10,"x\ny\u00fc",true,false,null,{}],"b":{"c":[]}})", "[]", "3", "\"\"",
        R"(["\ud83d\ude00","\/","\\"])"}) {
    const nlohmann::json json = nlohmann::json::parse(text);
    std::string shown;
    const Source source(text, "f");
    Report report(source);
    const Tree tree = read_json5(source, report);
    ASSERT_NE(tree.root, nullptr) << text;
    const std::function<nlohmann::json(const Node&)> to_json = [&](const Node& n) {
      if (n.kind == NodeKind::null) return nlohmann::json(nullptr);
      if (n.kind == NodeKind::scalar)
        return n.plain ? nlohmann::json::parse(n.text) : nlohmann::json(n.text);
      nlohmann::json out =
          n.kind == NodeKind::map ? nlohmann::json::object() : nlohmann::json::array();
      const std::size_t step = n.kind == NodeKind::map ? 2 : 1;
      for (std::size_t i = 0; i + step <= n.items.size(); i += step) {
        if (step == 2)
          out[n.items[i]->text] = to_json(*n.items[i + 1]);
        else
          out.push_back(to_json(*n.items[i]));
      }
      return out;
    };
    EXPECT_EQ(to_json(*tree.root), json) << text;
  }
}

}  // namespace
}  // namespace torc::spec
