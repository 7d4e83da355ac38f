#include "tests/support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};

[[maybe_unused]] void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  count.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// AddressSanitizer has an operator new of its own, which checks how memory is given back; there nothing is
// counted.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FAREWAY_NEW_IS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FAREWAY_NEW_IS_SANITIZED
#endif

#ifndef FAREWAY_NEW_IS_SANITIZED
void* operator new(std::size_t size) {
  return counted(std::malloc(size == 0 ? 1 : size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(to, (size + to - 1) / to * to));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace fareway::testing {

std::size_t allocations() {
  return count.load(std::memory_order_relaxed);
}

}  // namespace fareway::testing
