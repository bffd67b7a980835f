#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster::runtime {

/// Where a key was given.
struct Origin {
  std::string place;  // "job.toml:3:5", or "--set training.steps=5"
  std::size_t line = 0;
  std::size_t column = 0;
};

/// The keys given for a job and the mistakes found in them, so that all are reported at once.
class Findings {
 public:
  /// `kind`: what the file is, for the error: "the job", "the cluster".
  explicit Findings(std::string file, std::string kind = "the job")
      : file_(std::move(file)), kind_(std::move(kind)) {}

  /// A place in the file.
  Origin in_file(std::size_t line, std::size_t column) const;
  /// The place of an override, which sorts behind the file's.
  static Origin in_override(const std::string& text);

  void note(const std::string& name, const Origin& origin) { given_[name] = origin; }
  bool is_given(const std::string& name) const { return given_.contains(name); }
  /// Where the key was given, else its section, else the top of the file.
  Origin origin_of(const std::string& name) const;

  /// Records `key "name" text` at `origin`.
  void add(const std::string& name, const Origin& origin, std::string_view text);
  void add(const std::string& name, std::string_view text) { add(name, origin_of(name), text); }
  /// Records a mistake that belongs to no key.
  void add_line(const Origin& origin, std::string text);

  /// No mistake was found in any of these keys, so relations between them can be judged.
  bool are_good(std::initializer_list<std::string_view> names) const;

  /// Throws Error(config) with all mistakes in the order of the file, if there are any.
  void throw_if_any() const;

 private:
  struct Mistake {
    Origin origin;
    std::string text;
  };

  std::string file_;
  std::string kind_;
  std::map<std::string, Origin> given_;  // keys and sections
  std::set<std::string, std::less<>> bad_;
  std::vector<Mistake> mistakes_;
};

}  // namespace muster::runtime
