#include "collectives/trace/symbols.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

namespace muster::collectives::trace {
namespace {

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // in the file
  std::string path;
};

std::vector<Mapping> mappings_of(pid_t process) {
  std::vector<Mapping> result;
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    Mapping mapping;
    char dash = 0;
    std::string access;
    std::string device;
    std::string inode;
    words >> std::hex >> mapping.begin >> dash >> mapping.end >> access >> mapping.offset >>
        device >> inode >> mapping.path;
    if (!words.fail() && mapping.path.starts_with('/')) result.push_back(std::move(mapping));
  }
  return result;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

/// The functions of one ELF file.
class SymbolTable {
 public:
  explicit SymbolTable(const std::string& path) : bytes_(read_file(path)) {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    for (unsigned int type : {SHT_SYMTAB, SHT_DYNSYM}) {
      for (std::uint64_t i = 0; i < header->e_shnum && functions_.empty(); ++i) {
        const auto section = at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
        if (section && section->sh_type == type) add(*header, *section);
      }
    }
    for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
      if (segment && segment->p_type == PT_LOAD) segments_.push_back(*segment);
    }
  }

  /// "name+0x1c" of the function at this place of the file, or nothing.
  std::string name_at(std::uint64_t offset) const {
    const std::optional<std::uint64_t> address = address_of(offset);
    if (!address) return {};
    auto next = functions_.upper_bound(*address);
    if (next == functions_.begin()) return {};
    const auto& [begin, function] = *--next;
    if (*address - begin >= function.size) return {};
    return fmt::format("{}+{:#x}", demangled(function.name.c_str()), *address - begin);
  }

 private:
  struct Function {
    std::uint64_t size = 0;
    std::string name;
  };

  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (bytes_.size() < sizeof(T) || offset > bytes_.size() - sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  void add(const Elf64_Ehdr& header, const Elf64_Shdr& section) {
    const auto names = at<Elf64_Shdr>(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    if (!names) return;
    for (std::uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(section.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0) continue;
      const std::uint64_t name = names->sh_offset + symbol->st_name;
      if (name >= bytes_.size()) continue;
      functions_.insert_or_assign(symbol->st_value,
                                  Function{symbol->st_size, bytes_.c_str() + name});
    }
  }

  std::optional<std::uint64_t> address_of(std::uint64_t offset) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz) {
        return offset - segment.p_offset + segment.p_vaddr;
      }
    }
    return std::nullopt;
  }

  std::string bytes_;
  std::map<std::uint64_t, Function> functions_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::vector<std::string> symbolise(pid_t process, std::span<const std::uint64_t> addresses) {
  const std::vector<Mapping> mappings = mappings_of(process);
  std::map<std::string, SymbolTable> tables;
  const auto name_of = [&](std::uint64_t address, bool is_return) {
    for (const Mapping& mapping : mappings) {
      if (address < mapping.begin || address >= mapping.end) continue;
      const SymbolTable& table = tables.try_emplace(mapping.path, mapping.path).first->second;
      const std::string file = mapping.path.substr(mapping.path.rfind('/') + 1);
      const std::uint64_t offset = address - mapping.begin + mapping.offset;
      // A call may be a function's last instruction: then its return is the next one's first.
      const std::string name = table.name_at(is_return && offset > 0 ? offset - 1 : offset);
      return name.empty() ? fmt::format("{}+{:#x}", file, offset)
                          : fmt::format("{} ({})", name, file);
    }
    return fmt::format("{:#x}", address);
  };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < addresses.size(); ++i) names.push_back(name_of(addresses[i], i > 0));
  return names;
}

}  // namespace muster::collectives::trace
