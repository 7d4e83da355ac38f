-- The same tables with enums checked by comparisons: for IN, SQLite builds a table of the values at each INSERT, which was
-- a quarter of what a row cost. Both tables are made anew, since charges refer to requests.

CREATE TABLE requests_anew (
  request_id        TEXT    NOT NULL PRIMARY KEY CHECK (request_id <> ''),
  admitted_at_ns    INTEGER NOT NULL,
  tenant            TEXT    NOT NULL,
  key_id            TEXT    NOT NULL,
  model             TEXT    NOT NULL,
  service_class     TEXT    NOT NULL,
  endpoint          TEXT    NOT NULL,
  session           TEXT    NOT NULL,                                      -- hash; '' where the client named none
  outcome           TEXT    NOT NULL
                    CHECK (outcome = 'complete' OR outcome = 'incomplete' OR outcome = 'client_closed'
                           OR outcome = 'engine_error' OR outcome = 'failed'),
  status            INTEGER NOT NULL CHECK (status BETWEEN 0 AND 999),     -- HTTP; 0 where the client left before one
  usage_source      TEXT    NOT NULL
                    CHECK (usage_source = 'engine' OR usage_source = 'counted' OR usage_source = 'unknown'),
  prompt_tokens     INTEGER CHECK (prompt_tokens >= 0),
  cached_tokens     INTEGER CHECK (cached_tokens >= 0),                    -- the part of the prompt that was cached
  completion_tokens INTEGER CHECK (completion_tokens >= 0),
  price_nanousd     INTEGER CHECK (price_nanousd >= 0),                    -- what the tenant pays
  ttft_seconds      REAL    CHECK (ttft_seconds >= 0),
  duration_seconds  REAL    NOT NULL CHECK (duration_seconds >= 0),
  CHECK ((prompt_tokens IS NULL) = (cached_tokens IS NULL)),
  CHECK ((prompt_tokens IS NULL) = (completion_tokens IS NULL))
) STRICT;

CREATE TABLE charges_anew (
  request_id   TEXT    NOT NULL REFERENCES requests_anew (request_id),
  attempt      INTEGER NOT NULL CHECK (attempt >= 1),
  replica      TEXT    NOT NULL,
  pool         TEXT    NOT NULL,
  cost_nanousd INTEGER NOT NULL CHECK (cost_nanousd >= 0),
  PRIMARY KEY (request_id, attempt)
) STRICT, WITHOUT ROWID;

INSERT INTO requests_anew
  SELECT request_id, admitted_at_ns, tenant, key_id, model, service_class, endpoint, session, outcome, status, usage_source,
         prompt_tokens, cached_tokens, completion_tokens, price_nanousd, ttft_seconds, duration_seconds
  FROM requests;
INSERT INTO charges_anew SELECT request_id, attempt, replica, pool, cost_nanousd FROM charges;

DROP TABLE charges;
DROP TABLE requests;
ALTER TABLE requests_anew RENAME TO requests;  -- and with it what charges_anew refers to
ALTER TABLE charges_anew RENAME TO charges;

CREATE INDEX requests_by_time ON requests (admitted_at_ns);
CREATE INDEX requests_by_tenant ON requests (tenant, admitted_at_ns);
