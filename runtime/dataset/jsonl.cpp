#include "runtime/dataset/jsonl.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::runtime {
namespace {

using Json = nlohmann::json;

/// What the parser says without its own position and without the row's bytes.
std::string shorten(std::string_view what) {
  if (const std::size_t begin = what.find(" - "); begin != std::string_view::npos) {
    what.remove_prefix(begin + 3);
  } else if (const std::size_t colon = what.find(": "); colon != std::string_view::npos) {
    what.remove_prefix(colon + 2);
  }
  return std::string(what.substr(0, what.find("; last read")));
}

/// Takes the string "text" of the outermost object out of a stream of JSON events, so that nothing
/// else of a row is ever stored.
class TextTaker final : public nlohmann::json_sax<Json> {
 public:
  explicit TextTaker(JsonRow& row) : row_(row) {}

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t) override { return value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return value("a number"); }
  bool binary(binary_t&) override { return value("binary"); }
  bool start_array(std::size_t) override { return value("a list") && enter(); }
  bool end_array() override { return leave(); }
  bool end_object() override { return leave(); }

  bool string(string_t& text) override {
    if (!is_text()) return value("a string");
    if (has_text_) return refuse("\"text\" is there twice");
    has_text_ = true;
    row_.text = std::move(text);
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ == 0) return enter();
    return value("an object") && enter();
  }

  bool key(string_t& name) override {
    if (depth_ == 1) is_text_next_ = name == "text";
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    row_.byte = byte;
    return refuse(shorten(error.what()));
  }

  bool has_text() const { return has_text_; }

 private:
  bool is_text() const { return depth_ == 1 && is_text_next_; }

  /// Any value but the text: allowed where it is not in the text's place.
  bool value(std::string_view kind) {
    if (depth_ == 0) return refuse(fmt::format("must be an object, is {}", kind));
    if (is_text()) return refuse(fmt::format("\"text\" must be a string, is {}", kind));
    return true;
  }
  bool enter() {
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  bool refuse(std::string problem) {
    row_.problem = std::move(problem);
    return false;
  }

  JsonRow& row_;
  std::int64_t depth_ = 0;
  bool is_text_next_ = false;  // the last key of the outermost object was "text"
  bool has_text_ = false;
};

}  // namespace

JsonRow parse_json_row(std::string_view line) {
  JsonRow row;
  TextTaker taker(row);
  const bool is_good = Json::sax_parse(line.begin(), line.end(), &taker);
  if (is_good && !taker.has_text()) row.problem = "has no \"text\"";
  return row;
}

}  // namespace muster::runtime
