#pragma once

#include <string_view>

namespace fareway {

/// router/admin/console.html, as it was when the router was built.
std::string_view console_html();

}  // namespace fareway
