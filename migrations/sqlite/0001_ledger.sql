-- The ledger: one row a request, one an attempt, one an idle interval of a replica.
-- Instants are nanoseconds since 1970 (UTC); money is whole nanodollars; NULL is unknown, never zero.

CREATE TABLE requests (
  request_id        TEXT    NOT NULL PRIMARY KEY CHECK (request_id <> ''),
  admitted_at_ns    INTEGER NOT NULL,
  tenant            TEXT    NOT NULL,
  key_id            TEXT    NOT NULL,
  model             TEXT    NOT NULL,
  service_class     TEXT    NOT NULL,
  endpoint          TEXT    NOT NULL,
  session           TEXT    NOT NULL,                                      -- hash; '' where the client named none
  outcome           TEXT    NOT NULL
                    CHECK (outcome IN ('complete', 'incomplete', 'client_closed', 'engine_error', 'failed')),
  status            INTEGER NOT NULL CHECK (status BETWEEN 0 AND 999),     -- HTTP; 0 where the client left before one
  usage_source      TEXT    NOT NULL CHECK (usage_source IN ('engine', 'counted', 'unknown')),
  prompt_tokens     INTEGER CHECK (prompt_tokens >= 0),
  cached_tokens     INTEGER CHECK (cached_tokens >= 0),                    -- the part of the prompt that was cached
  completion_tokens INTEGER CHECK (completion_tokens >= 0),
  price_nanousd     INTEGER CHECK (price_nanousd >= 0),                    -- what the tenant pays
  ttft_seconds      REAL    CHECK (ttft_seconds >= 0),
  duration_seconds  REAL    NOT NULL CHECK (duration_seconds >= 0),
  CHECK ((prompt_tokens IS NULL) = (cached_tokens IS NULL)),
  CHECK ((prompt_tokens IS NULL) = (completion_tokens IS NULL))
) STRICT;

CREATE INDEX requests_by_time ON requests (admitted_at_ns);
CREATE INDEX requests_by_tenant ON requests (tenant, admitted_at_ns);

-- What the meter charged for each attempt. A request's cost is their sum; the last attempt answered.
CREATE TABLE charges (
  request_id   TEXT    NOT NULL REFERENCES requests (request_id),
  attempt      INTEGER NOT NULL CHECK (attempt >= 1),
  replica      TEXT    NOT NULL,
  pool         TEXT    NOT NULL,
  cost_nanousd INTEGER NOT NULL CHECK (cost_nanousd >= 0),
  PRIMARY KEY (request_id, attempt)
) STRICT, WITHOUT ROWID;

-- What a replica cost while nothing was active on it. Charges + idle costs = price x hours.
CREATE TABLE idle_costs (
  replica      TEXT    NOT NULL,
  pool         TEXT    NOT NULL,
  from_ns      INTEGER NOT NULL,
  to_ns        INTEGER NOT NULL CHECK (to_ns >= from_ns),
  idle_nanousd INTEGER NOT NULL CHECK (idle_nanousd >= 0)
) STRICT;

CREATE INDEX idle_costs_by_time ON idle_costs (from_ns);
