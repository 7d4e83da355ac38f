#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "placement/simulation/workload.hpp"

namespace fareway {

/// The recorded traces the placement suite runs on, by their short names: conv and code (Azure's LLM
/// inference traces of 2023, CSV with TIMESTAMP, ContextTokens, GeneratedTokens), mooncake and synthetic
/// (Mooncake's FAST'25 traces, JSON lines with timestamp, input_length, output_length, hash_ids). `directory`
/// holds the files as published, by the names azure_llm_2023_conv.csv, azure_llm_2023_code.csv,
/// mooncake_conversation.jsonl, mooncake_synthetic.jsonl. Throws std::runtime_error with file and line.
std::vector<simulation::Trace> read_traces(const std::filesystem::path& directory);

simulation::Trace read_azure_trace(const std::filesystem::path& file, const std::string& name);
simulation::Trace read_mooncake_trace(const std::filesystem::path& file, const std::string& name);

}  // namespace fareway
