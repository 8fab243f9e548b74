#include "CRE2.h"

#include <re2/re2.h>

struct cre_pattern {
  RE2 expression;
};

namespace {

RE2::Options options(int64_t memory_max) {
  RE2::Options out;
  out.set_max_mem(memory_max);
  out.set_never_capture(true);
  // RE2 would write the expression to standard error.
  out.set_log_errors(false);
  return out;
}

const char *words(RE2::ErrorCode code) {
  switch (code) {
  case RE2::ErrorBadEscape: return "an escape that is unknown or unsupported";
  case RE2::ErrorBadCharClass: return "a character class that is malformed";
  case RE2::ErrorBadCharRange: return "a character range that is malformed or unknown";
  case RE2::ErrorMissingBracket: return "a missing ]";
  case RE2::ErrorMissingParen: return "a missing )";
  case RE2::ErrorTrailingBackslash: return "a \\ at its end";
  case RE2::ErrorRepeatArgument: return "a repetition of nothing";
  case RE2::ErrorRepeatSize: return "a repetition that is malformed or over 1000";
  case RE2::ErrorRepeatOp: return "a repetition of a repetition";
  case RE2::ErrorBadPerlOp: return "an operator that is unknown or unsupported";
  case RE2::ErrorBadNamedCapture: return "a group name that is malformed";
  case RE2::ErrorPatternTooLarge: return "repetitions that make it too large";
  default: return "a part that cannot be read";
  }
}

}  // namespace

extern "C" {

cre_pattern *cre_pattern_new(const char *bytes, size_t length, int64_t memory_max) {
  try {
    return new cre_pattern{RE2(re2::StringPiece(bytes, length), options(memory_max))};
  } catch (...) {
    return nullptr;
  }
}

void cre_pattern_free(cre_pattern *pattern) { delete pattern; }

const char *cre_pattern_fault(const cre_pattern *pattern, const char **part, size_t *part_length) {
  const RE2 &expression = pattern->expression;
  if (expression.ok()) return nullptr;
  *part = expression.error_arg().data();
  *part_length = expression.error_arg().size();
  return words(expression.error_code());
}

int cre_pattern_matches(const cre_pattern *pattern, const char *bytes, size_t length) {
  try {
    // Without groups RE2 only has to find out whether there is a match, which its
    // automaton can do alone.
    return pattern->expression.Match(re2::StringPiece(bytes, length), 0, length, RE2::UNANCHORED, nullptr, 0);
  } catch (...) {
    return 0;
  }
}

}  // extern "C"
