#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "collectives/bootstrap/build_id.hpp"
#include "collectives/communicator.hpp"
#include "collectives/mpi/mpi_session.hpp"
#include "collectives/mpi/plugin_group.hpp"

namespace muster::collectives::mpi {
namespace {

int start_mpi() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  return provided;
}

int number_of_lanes(int thread_level) noexcept {
  return thread_level >= MPI_THREAD_SERIALIZED ? Communicator::kMaxLanes : 1;
}

// A communicator per lane, the first of which is `first`. Empty when MPI refuses one.
std::vector<MPI_Comm> open_lanes(MPI_Comm first, int lanes, int& error) {
  MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);  // copies inherit it
  std::vector<MPI_Comm> comms = {first};
  for (int lane = 1; lane < lanes && error == MPI_SUCCESS; ++lane) {
    comms.push_back(MPI_COMM_NULL);
    error = MPI_Comm_dup(first, &comms.back());
  }
  return error == MPI_SUCCESS ? comms : std::vector<MPI_Comm>();
}

class PluginSession final : public Session {
 public:
  PluginSession() : lanes_(number_of_lanes(start_mpi())), library_(std::make_unique<Library>()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  int lanes() const noexcept override { return lanes_; }

  void broadcast(std::string& message) override {
    const std::scoped_lock lock(library_->mutex);
    unsigned long bytes = message.size();
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    message.resize(bytes);
    MPI_Bcast(message.data(), static_cast<int>(bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
  }

  std::unique_ptr<Group> create_group(std::span<const int> ranks, int& error) noexcept override {
    const std::scoped_lock lock(library_->mutex);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm first = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    error = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &members);
    MPI_Group_free(&all);
    if (error != MPI_SUCCESS) return nullptr;
    // The tag tells apart what threads make at once, and here they wait for each other.
    constexpr int kTag = 0;
    error = MPI_Comm_create_group(MPI_COMM_WORLD, members, kTag, &first);
    MPI_Group_free(&members);
    if (error != MPI_SUCCESS) return nullptr;
    std::vector<MPI_Comm> comms = open_lanes(first, lanes_, error);
    if (error != MPI_SUCCESS) return nullptr;
    return std::make_unique<PluginGroup>(*library_, std::move(comms));
  }

  void describe(int error, std::span<char> text) const noexcept override {
    describe_error(error, text);
  }

  void finish() override {
    const std::scoped_lock lock(library_->mutex);
    if (std::exchange(library_->is_finished, true)) return;
    MPI_Finalize();
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  int lanes_;
  std::unique_ptr<Library> library_;  // made once MPI runs
};

}  // namespace
}  // namespace muster::collectives::mpi

extern "C" muster::collectives::mpi::Session* muster_open_mpi(const char* build_id,
                                                              const char** plugin_build_id) {
  *plugin_build_id = muster::collectives::build_id();
  if (std::strcmp(build_id, *plugin_build_id) != 0) return nullptr;
  return std::make_unique<muster::collectives::mpi::PluginSession>().release();
}
