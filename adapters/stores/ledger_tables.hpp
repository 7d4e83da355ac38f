#pragma once

#include <string>

#include "adapters/stores/database.hpp"
#include "pricing/ledger_row.hpp"

namespace fareway {

/// The ledger's INSERTs, prepared once; call within a transaction. Throws DatabaseError; `is_refusal` tells a
/// bad row from a store that fails.
class LedgerTables {
 public:
  explicit LedgerTables(Database& database);

  /// Where it throws, part of the row may be in: the transaction must not be committed.
  void insert(const LedgerRow& row);
  void insert(const IdleRow& row);
  /// As `insert`, but the row goes in wholly or not at all, which costs a fifth more; where it is refused,
  /// the transaction may go on without it.
  template <class Row>
  void insert_wholly(const Row& row);

 private:
  Statement savepoint_;
  Statement release_;
  Statement undo_;
  Statement request_;
  Statement charge_;
  Statement idle_;
};

/// True where the schema will never take the row (a duplicate id, a negative amount), so that trying again is
/// vain.
bool is_refusal(const DatabaseError& error);

/// A row as JSON on one line, its members named like the columns: enough to enter it by hand.
std::string to_json(const LedgerRow& row);
std::string to_json(const IdleRow& row);

}  // namespace fareway
