#include "runtime/world/identity.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using Variables = Environment::Variables;

const Variables kMuster = {
    {"MUSTER_RANK", "1"}, {"MUSTER_WORLD_SIZE", "4"}, {"MUSTER_TICKET_FD", "7"}};
const Variables kTorchrun = {{"TORCHELASTIC_RUN_ID", "abc"},
                             {"RANK", "2"},
                             {"WORLD_SIZE", "3"},
                             {"LOCAL_RANK", "2"},
                             {"LOCAL_WORLD_SIZE", "3"},
                             {"MASTER_ADDR", "10.0.0.1"},
                             {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "5"},
                            {"OMPI_COMM_WORLD_SIZE", "6"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kPmi = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
const Variables kSlurm = {{"SLURM_PROCID", "3"},  {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "2"},
                          {"MASTER_ADDR", "n1"},  {"MASTER_PORT", "4000"}};
const Variables kPlain = {{"RANK", "1"},
                          {"WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "::1"},
                          {"MASTER_PORT", "4001"},
                          {"MUSTER_SECRET_FILE", "/s"}};

Variables join(const std::vector<Variables>& sets) {
  Variables all;
  for (const Variables& set : sets) all.insert(set.begin(), set.end());
  return all;
}

Variables without(Variables variables, const std::string& name) {
  EXPECT_EQ(variables.erase(name), 1U) << name;
  return variables;
}

struct Told {
  std::string name;
  Variables variables;
  std::string origin;
  int rank;
  int size;
  Entry entry;
};

class Believes : public testing::TestWithParam<Told> {};

TEST_P(Believes, TheHighestSetThatIsThere) {
  const Identity identity = read_identity(Environment(GetParam().variables));

  EXPECT_EQ(identity.origin, GetParam().origin);
  EXPECT_EQ(identity.rank, GetParam().rank);
  EXPECT_EQ(identity.size, GetParam().size);
  EXPECT_EQ(identity.entry, GetParam().entry);
}

INSTANTIATE_TEST_SUITE_P(
    Environments, Believes,
    testing::Values(
        Told{"nothing", {}, "single process", 0, 1, Entry::alone},
        Told{"launcher", kMuster, "muster", 1, 4, Entry::ticket},
        Told{"torchrun", kTorchrun, "torchrun", 2, 3, Entry::address},
        Told{"open_mpi", kOpenMpi, "Open MPI", 5, 6, Entry::messenger},
        Told{"pmi", kPmi, "PMI", 0, 2, Entry::messenger},
        Told{"slurm", kSlurm, "Slurm", 3, 4, Entry::address},
        Told{"plain", kPlain, "environment", 1, 2, Entry::address},
        Told{"everything", join({kSlurm, kPmi, kOpenMpi, kTorchrun, kMuster}), "muster", 1, 4,
             Entry::ticket},
        Told{"torchrun_before_mpi", join({kOpenMpi, kTorchrun}), "torchrun", 2, 3, Entry::address},
        Told{"mpi_before_slurm_of_its_daemon",
             join({kOpenMpi, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "3"}}}), "Open MPI",
             5, 6, Entry::messenger},
        Told{"pmi_before_slurm", join({kPmi, kSlurm}), "PMI", 0, 2, Entry::messenger},
        Told{"mpi_with_address_and_secret",
             join({kOpenMpi,
                   {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}, {"MUSTER_SECRET_FILE", "/s"}}}),
             "Open MPI", 5, 6, Entry::address},
        Told{"batch_script",
             {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}},
             "single process",
             0,
             1,
             Entry::alone},
        Told{"shell_from_srun",
             {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}},
             "single process",
             0,
             1,
             Entry::alone},
        Told{"mpirun_of_one",
             {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
             "Open MPI",
             0,
             1,
             Entry::alone},
        Told{"empty_values",
             {{"RANK", ""}, {"WORLD_SIZE", ""}},
             "single process",
             0,
             1,
             Entry::alone}),
    [](const auto& test) { return test.param.name; });

struct Wrong {
  std::string name;
  Variables variables;
  std::vector<std::string> named;
};

class Refuses : public testing::TestWithParam<Wrong> {};

TEST_P(Refuses, AndNamesTheVariables) {
  const std::string text =
      error_text(ErrorCode::config, [] { read_identity(Environment(GetParam().variables)); });

  for (const std::string& name : GetParam().named) {
    EXPECT_NE(text.find(name), std::string::npos) << name << " in: " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Environments, Refuses,
    testing::Values(
        Wrong{
            "launcher_without_size", {{"MUSTER_RANK", "0"}}, {"MUSTER_RANK", "MUSTER_WORLD_SIZE"}},
        Wrong{"launcher_without_rank",
              {{"MUSTER_WORLD_SIZE", "2"}},
              {"MUSTER_RANK", "MUSTER_WORLD_SIZE"}},
        Wrong{"launcher_without_ticket_or_address",
              without(kMuster, "MUSTER_TICKET_FD"),
              {"MASTER_ADDR", "MUSTER_SECRET_FILE"}},
        Wrong{"torchrun_without_size", without(kTorchrun, "WORLD_SIZE"), {"RANK", "WORLD_SIZE"}},
        Wrong{"torchrun_without_rank", without(kTorchrun, "RANK"), {"RANK", "WORLD_SIZE"}},
        Wrong{"torchrun_without_port", without(kTorchrun, "MASTER_PORT"), {"MASTER_PORT"}},
        Wrong{"mpi_without_size",
              without(kOpenMpi, "OMPI_COMM_WORLD_SIZE"),
              {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}},
        Wrong{"mpi_without_rank",
              without(kOpenMpi, "OMPI_COMM_WORLD_RANK"),
              {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}},
        Wrong{"pmi_without_size", without(kPmi, "PMI_SIZE"), {"PMI_RANK", "PMI_SIZE"}},
        Wrong{"pmix_alone", {{"PMIX_RANK", "0"}}, {"PMIX_RANK"}},
        Wrong{"slurm_step_without_rank",
              {{"SLURM_STEP_NUM_TASKS", "4"}},
              {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}},
        Wrong{"slurm_rank_outside",
              {{"SLURM_PROCID", "4"}, {"SLURM_STEP_NUM_TASKS", "4"}},
              {"SLURM_PROCID is 4", "SLURM_STEP_NUM_TASKS is 4"}},
        Wrong{"slurm_without_address",
              without(kSlurm, "MASTER_ADDR"),
              {"MASTER_ADDR", "MASTER_PORT", "MUSTER_SECRET_FILE"}},
        Wrong{"plain_without_size", without(kPlain, "WORLD_SIZE"), {"WORLD_SIZE"}},
        Wrong{"plain_without_rank", without(kPlain, "RANK"), {"RANK"}},
        Wrong{"plain_without_address", without(kPlain, "MASTER_ADDR"), {"MASTER_ADDR"}},
        Wrong{"plain_without_port", without(kPlain, "MASTER_PORT"), {"MASTER_PORT"}},
        Wrong{"address_alone", {{"MASTER_ADDR", "a"}}, {"MASTER_ADDR"}},
        Wrong{"rank_outside",
              {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
              {"OMPI_COMM_WORLD_RANK is 2", "OMPI_COMM_WORLD_SIZE is 2"}},
        Wrong{"negative_rank", {{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}}, {"PMI_RANK is -1"}},
        Wrong{"empty_world", {{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}, {"PMI_SIZE is 0"}},
        Wrong{"rank_in_words", {{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}, {"PMI_RANK", "one"}},
        Wrong{"size_too_large",
              {{"PMI_RANK", "0"}, {"PMI_SIZE", "99999999999"}},
              {"PMI_SIZE", "99999999999"}},
        Wrong{
            "port_too_large", join({{{"MASTER_PORT", "65536"}}, kPlain}), {"MASTER_PORT", "65536"}},
        Wrong{"port_zero", join({{{"MASTER_PORT", "0"}}, kPlain}), {"MASTER_PORT is 0"}},
        Wrong{"contradicting_slurm",
              {{"SLURM_NTASKS", "3"}, {"SLURM_NTASKS_PER_NODE", "2"}, {"SLURM_NNODES", "2"}},
              {"SLURM_NTASKS is 3", "SLURM_NNODES", "SLURM_NTASKS_PER_NODE", "2 x 2"}}),
    [](const auto& test) { return test.param.name; });

TEST(Identity, RemarksOnSetsThatDisagreeAboutTheSize) {
  const Identity identity = read_identity(Environment(join({kOpenMpi, kSlurm})));

  ASSERT_EQ(identity.remarks.size(), 1U);
  EXPECT_EQ(identity.remarks[0],
            "Open MPI says 6 ranks (OMPI_COMM_WORLD_SIZE), Slurm says 4 (SLURM_STEP_NUM_TASKS): "
            "Open MPI is believed");
}

TEST(Identity, HasNoRemarkOnSetsThatAgree) {
  const Variables same = {{"PMI_RANK", "3"}, {"PMI_SIZE", "6"}};

  EXPECT_TRUE(read_identity(Environment(join({kOpenMpi, same}))).remarks.empty());
}

TEST(Identity, TakesStoreSecretAndJobFromAPlainEnvironment) {
  const Identity identity = read_identity(Environment(kPlain));

  EXPECT_EQ(identity.store, (collectives::Endpoint{"::1", 4001}));
  EXPECT_EQ(identity.secret_file, "/s");
  EXPECT_EQ(identity.job_id, "::1:4001");
}

TEST(Identity, TakesThePortAfterTorchrunsOwnStore) {
  const Variables served = join({kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}});

  EXPECT_EQ(read_identity(Environment(served)).store.port, 29501);
  EXPECT_EQ(read_identity(Environment(kTorchrun)).store.port, 29500);
}

TEST(Identity, NamesTheJobAfterWhatStartedIt) {
  EXPECT_EQ(read_identity(Environment(kSlurm)).job_id, "77.2.0");
  EXPECT_EQ(read_identity(Environment(kTorchrun)).job_id, "abc.0");
  EXPECT_EQ(read_identity(Environment(join({kPlain, {{"MUSTER_JOB_ID", "mine"}}}))).job_id, "mine");
}

TEST(Identity, TakesTheInterfaceForTheStoreUnderMpi) {
  const Variables named = join({kOpenMpi, {{"MUSTER_INTERFACE", "eth1"}}});

  EXPECT_EQ(read_identity(Environment(named)).interface, "eth1");
}

TEST(Identity, KnowsHowManyRanksTheStarterPutOnThisHost) {
  EXPECT_EQ(read_identity(Environment(kOpenMpi)).local_size, 2);
  EXPECT_EQ(read_identity(Environment(kTorchrun)).local_size, 3);
  EXPECT_EQ(read_identity(Environment(kPmi)).local_size, std::nullopt);
}

}  // namespace
}  // namespace muster::runtime
