#include <cstring>
#include <memory>
#include <string>

#include <mpi.h>

#include "collectives/bootstrap/build_id.hpp"
#include "collectives/bootstrap/messenger.hpp"

namespace muster::collectives {
namespace {

class MpiMessenger final : public Messenger {
 public:
  MpiMessenger() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  void broadcast(std::string& message) override {
    unsigned long bytes = message.size();
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    message.resize(bytes);
    MPI_Bcast(message.data(), static_cast<int>(bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
  }

  void finish() override { MPI_Finalize(); }

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace
}  // namespace muster::collectives

extern "C" muster::collectives::Messenger* muster_open_messenger(const char* build_id,
                                                                 const char** plugin_build_id) {
  *plugin_build_id = muster::collectives::build_id();
  if (std::strcmp(build_id, *plugin_build_id) != 0) return nullptr;
  return std::make_unique<muster::collectives::MpiMessenger>().release();
}
