#include "router/config/yaml_document.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace fareway {
namespace {

using NodePtr = std::shared_ptr<const YamlNode>;

/// Leaves yaml-cpp's parser from inside one of its events.
struct Refusal {
  int line;
  std::string what;
};

int line_of(const YAML::Mark& mark) {
  return mark.is_null() ? 0 : mark.line + 1;
}

/// Builds the tree from yaml-cpp's events, within the limits.
class TreeBuilder final : public YAML::EventHandler {
 public:
  /// Call at the end of the text. A key that is no plain text is refused only now: a bracket that is never
  /// closed looks like one until yaml-cpp gets there and says better what is wrong.
  NodePtr take() {
    if (odd_key_line_) throw Refusal{*odd_key_line_, "a key is missing or no plain text; write key: value"};
    return std::move(root_.node);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_.node) throw Refusal{line_of(mark), "a second document starts here; write one document a file"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    open(YamlNode::Kind::kNull, mark, {}, anchor);
    close();
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    constexpr std::string_view kQuotedTag = "!";
    if (expects_key()) {
      open_.back().key = Key{value, line_of(mark)};
      return;
    }
    YamlNode& node = open(YamlNode::Kind::kScalar, mark, tag, anchor);
    node.text = value;
    node.was_quoted = tag == kQuotedTag;
    close();
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end())
      throw Refusal{line_of(mark), "an alias stands inside what it refers to, or refers to a key"};
    check_limits(open_.size() + known->second.height, known->second.size, mark);
    attach(known->second);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Key {
    std::string text;
    int line;
  };
  /// A finished value, with what it amounts to when aliases are followed.
  struct Tree {
    NodePtr node;
    std::size_t size{1};
    std::size_t height{1};
  };
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor;
    std::optional<Key> key;
    std::size_t size{1};
    std::size_t height{1};
  };

  bool expects_key() const {
    return !open_.empty() && open_.back().node->kind == YamlNode::Kind::kMap && !open_.back().key;
  }

  void check_limits(std::size_t depth, std::size_t more, const YAML::Mark& mark) {
    if (depth > kDeepestNesting) {
      throw Refusal{line_of(mark), fmt::format("nested more than {} levels deep", kDeepestNesting)};
    }
    total_ += more;
    if (total_ > kMostYamlNodes) {
      throw Refusal{line_of(mark),
                    fmt::format("more than {} values up to here, aliases followed", kMostYamlNodes)};
    }
  }

  YamlNode& open(YamlNode::Kind kind, const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    check_limits(open_.size() + 1, 1, mark);
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refusal{line_of(mark), fmt::format("has a tag {}; write the value without one", in_quotes(tag))};
    }
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->line = line_of(mark);
    open_.push_back({.node = std::move(node), .anchor = anchor, .key = {}});
    return *open_.back().node;
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    Tree tree{std::move(done.node), done.size, done.height};
    if (done.anchor != YAML::NullAnchor) anchors_[done.anchor] = tree;
    attach(std::move(tree));
  }

  void attach(Tree tree) {
    if (open_.empty()) {
      root_ = std::move(tree);
      return;
    }
    Open& parent = open_.back();
    parent.size += tree.size;
    parent.height = std::max(parent.height, tree.height + 1);
    if (parent.key) {
      parent.node->entries.push_back({std::move(parent.key->text), parent.key->line, std::move(tree.node)});
      parent.key.reset();
    } else if (parent.node->kind == YamlNode::Kind::kMap) {
      if (!odd_key_line_) odd_key_line_ = tree.node->line;
      parent.key = Key{{}, tree.node->line};
    } else {
      parent.node->items.push_back(std::move(tree.node));
    }
  }

  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Tree> anchors_;
  std::size_t total_{0};
  std::optional<int> odd_key_line_;
  Tree root_;
};

/// yaml-cpp takes U+0004 for the end of the file and turns broken UTF-8 into replacement characters: refuse
/// control characters before it sees them.
std::optional<int> line_of_control_character(std::string_view text) {
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') return line;
  }
  return std::nullopt;
}

NodePtr parse_documents(std::string_view text) {
  std::istringstream in{std::string(text)};
  YAML::Parser parser(in);
  TreeBuilder builder;
  while (parser.HandleNextDocument(builder)) {
  }
  return builder.take();
}

}  // namespace

std::shared_ptr<const YamlNode> read_yaml(std::string_view text, Problems& problems) {
  if (text.size() > kLargestConfigBytes) {
    problems.add(0, {},
                 fmt::format("is larger than {} MiB; is it the right file?", kLargestConfigBytes >> 20));
    return nullptr;
  }
  if (const auto line = line_of_control_character(text)) {
    problems.add(*line, {}, "holds a control character; the file must be UTF-8 text");
    return nullptr;
  }
  try {
    NodePtr root = parse_documents(text);
    if (!root) problems.add(0, {}, "is empty; start from deploy/fareway.example.yaml");
    return root;
  } catch (const Refusal& refusal) {
    problems.add(refusal.line, {}, refusal.what);
  } catch (const YAML::Exception& error) {
    problems.add(line_of(error.mark), {}, fmt::format("not valid YAML: {}", error.msg));
  }
  return nullptr;
}

}  // namespace fareway
