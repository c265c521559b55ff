// Runs a network that sateen exported as a static archive, libmlp.a, from C++.
#include <array>
#include <cstdio>

#include "libmlp.h"

int main() {
  alignas(64) static std::array<unsigned char, MLP_WORKSPACE_BYTES> workspace;
  static std::array<float, MLP_DATA_ELEMENTS> data;
  static std::array<float, MLP_PROBABILITIES_ELEMENTS> probabilities;
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 17) / 16.0f;

  const auto status = mlp_run(nullptr, data.data(), probabilities.data(), workspace.data());
  if (status != SATEEN_STATUS_OK) {
    std::fprintf(stderr, "mlp: %s\n", mlp_sateen_status_message(status));
    return 1;
  }
  for (const auto value : probabilities) std::printf(" %.6f", static_cast<double>(value));
  std::printf("\n");
}
