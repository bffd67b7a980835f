#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "collectives/self/self_communicator.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "runtime/checkpoint/reader.hpp"
#include "runtime/engine/decoder.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/train/run.hpp"
#include "runtime/train/session.hpp"
#include "runtime/train/shape.hpp"
#include "runtime/train/weights.hpp"
#include "runtime/world/cores.hpp"

namespace muster::runtime {
namespace {

/// A token drawn from softmax(logits / temperature), or the likeliest at temperature 0. The draw is
/// a function of seed and place in the text.
std::int32_t sample(std::span<const float> logits, double temperature, std::uint64_t seed,
                    std::uint64_t place) {
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  if (temperature == 0.0) return static_cast<std::int32_t>(likeliest - logits.begin());
  std::vector<double> weights(logits.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp(static_cast<double>(logits[i] - *likeliest) / temperature);
    sum += weights[i];
  }
  double left = static_cast<double>(to_uniform(philox(seed, place)[0])) * sum;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0.0) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(likeliest - logits.begin());
}

/// The job whose checkpoint this is, as it was saved with it.
JobConfig job_of(const CheckpointReader& reader, const std::string& where) {
  return parse_job(reader.state().config, where + "/trainer.json", {});
}

void check_options(const GenerateOptions& options) {
  if (options.tokens < 1 || options.tokens > 1'000'000) {
    throw Error(ErrorCode::config,
                fmt::format("--tokens {}: allowed is 1 to 1000000", options.tokens));
  }
  if (!(options.temperature >= 0.0 && options.temperature <= 100.0)) {
    throw Error(ErrorCode::config,
                fmt::format("--temperature {}: allowed is 0 to 100", options.temperature));
  }
}

}  // namespace

int run_generate(const GenerateOptions& options, Reporter& reporter) {
  check_options(options);
  const CheckpointReader reader = CheckpointReader::open(options.checkpoint);
  const JobConfig config = job_of(reader, options.checkpoint);
  const auto tokenizer = open_tokenizer(config.tokenizer);
  const ModelShape shape = model_shape(config, tokenizer->vocab_size());
  const auto device = open_job_device(config, static_cast<int>(affinity_cpus().size()));
  collectives::SelfCommunicator group({.name = "generate", .hosts = {"here"}}, *device);

  Decoder decoder(engine_options(config, shape, {1, config.data.seq_len}), *device, group);
  load_checkpoint(decoder.store(), decoder.registry(), reader);
  decoder.refresh_compute_copies();

  std::vector<std::int32_t> text{tokenizer->eos()};  // what stands before a document
  const std::vector<std::int32_t> prompt = tokenizer->encode(options.prompt);
  text.insert(text.end(), prompt.begin(), prompt.end());
  const std::size_t begin = text.size();
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const std::int32_t next = sample(decoder.next_logits(text), options.temperature,
                                     static_cast<std::uint64_t>(options.seed), text.size());
    if (next == tokenizer->eos()) break;
    text.push_back(next);
  }
  reporter.lines(options.prompt + tokenizer->decode(std::span(text).subspan(begin)));
  return 0;
}

}  // namespace muster::runtime
