/** Tables of the orchestration engine. */
import { sharedPartsMigration } from '@fairlead/base/storage/shared-parts.ts'

export const orchestrationMigrations: readonly string[] = [
  `
  CREATE TABLE orchestration_executions (
    id             TEXT PRIMARY KEY,
    type           TEXT NOT NULL,
    application    TEXT NOT NULL,
    config_id      TEXT,
    status         TEXT NOT NULL,
    complete       INTEGER NOT NULL,
    correlation_id TEXT,
    build_time     INTEGER NOT NULL,
    start_time     INTEGER,
    -- Place among those that wait for their turn, NULL when it does not wait.
    parked_at      TEXT,
    -- When the engine has to look at it next, NULL when only a request can move it.
    next_due       INTEGER,
    -- The record without its trigger, which never changes and may hold a whole parent execution.
    body           TEXT NOT NULL,
    trigger        TEXT NOT NULL
  ) STRICT;
  CREATE INDEX orchestration_executions_by_config ON orchestration_executions (config_id, id) WHERE config_id IS NOT NULL;
  CREATE INDEX orchestration_executions_by_application ON orchestration_executions (application, type, start_time);
  CREATE INDEX orchestration_executions_by_correlation ON orchestration_executions (correlation_id, type)
    WHERE correlation_id IS NOT NULL;
  CREATE INDEX orchestration_executions_parked ON orchestration_executions (config_id, parked_at) WHERE parked_at IS NOT NULL;
  CREATE INDEX orchestration_executions_incomplete ON orchestration_executions (status, config_id) WHERE complete = 0;
  CREATE INDEX orchestration_executions_due ON orchestration_executions (next_due) WHERE next_due IS NOT NULL;
  `,
  `
  -- How often the engine has ended since the execution last got on.
  ALTER TABLE orchestration_executions ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- The execution that began the row in which this one was started by another, and how many stand between; NULL and 0 for itself.
  ALTER TABLE orchestration_executions ADD COLUMN lineage_root TEXT;
  ALTER TABLE orchestration_executions ADD COLUMN lineage_depth INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX orchestration_executions_by_lineage ON orchestration_executions (lineage_root) WHERE lineage_root IS NOT NULL;
  `,
  sharedPartsMigration('orchestration', 'orchestration_executions'),
  `
  CREATE INDEX orchestration_executions_by_build_time ON orchestration_executions (build_time, id) WHERE type = 'PIPELINE';
  `,
  `
  -- Users of the submission and of the trigger; neither changes. The second is NULL where it is the first.
  ALTER TABLE orchestration_executions ADD COLUMN user TEXT;
  ALTER TABLE orchestration_executions ADD COLUMN trigger_user TEXT;
  UPDATE orchestration_executions SET user = json_extract(body, '$.authentication.user') WHERE json_valid(body);
  UPDATE orchestration_executions SET trigger_user = nullif(json_extract(trigger, '$.user'), user) WHERE json_valid(trigger);
  CREATE INDEX orchestration_executions_by_user ON orchestration_executions (user, build_time, id)
    WHERE type = 'PIPELINE' AND user IS NOT NULL;
  CREATE INDEX orchestration_executions_by_application_time ON orchestration_executions (application, build_time, id)
    WHERE type = 'PIPELINE';
  CREATE INDEX orchestration_executions_by_trigger_user ON orchestration_executions (trigger_user, build_time, id)
    WHERE type = 'PIPELINE' AND trigger_user IS NOT NULL;
  `,
  `
  -- What searches look at: types of triggers, and text as search-text.ts writes it, which does not change after submission.
  CREATE TABLE orchestration_searched (
    id           TEXT PRIMARY KEY REFERENCES orchestration_executions ON DELETE CASCADE,
    trigger_type TEXT,
    text         TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO orchestration_searched
    SELECT id, json_extract(trigger, '$.type'), lower(char(10) || concat_ws(char(10),
      (SELECT group_concat(key || '=' || atom, char(10)) FROM json_each(trigger, '$.parameters')),
      json_extract(body, '$.name'), json_extract(trigger, '$.tag'), json_extract(trigger, '$.branch'),
      json_extract(trigger, '$.hash'), json_extract(trigger, '$.version')) || char(10))
    FROM orchestration_executions WHERE type = 'PIPELINE' AND json_valid(trigger) AND json_valid(body);
  `,
  `
  -- For retention, which goes from the oldest to the newest.
  CREATE INDEX orchestration_tasks_by_build_time ON orchestration_executions (build_time, id) WHERE type = 'ORCHESTRATION';
  CREATE INDEX orchestration_tasks_by_application_time ON orchestration_executions (application, build_time, id)
    WHERE type = 'ORCHESTRATION';
  `,
  `
  -- What searches look for as a whole, as search-text.ts writes it.
  CREATE TABLE orchestration_search_marks (
    application TEXT NOT NULL,
    mark        TEXT NOT NULL,
    build_time  INTEGER NOT NULL,
    id          TEXT NOT NULL REFERENCES orchestration_executions ON DELETE CASCADE,
    PRIMARY KEY (application, mark, build_time, id)
  ) STRICT, WITHOUT ROWID;
  WITH RECURSIVE lines (id, line, rest) AS (
    SELECT id, '', substr(text, 2) FROM orchestration_searched
    UNION ALL
    SELECT id, substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1) FROM lines WHERE rest <> ''),
  marks (id, mark) AS (
    SELECT id, 'parameter ' || line FROM lines WHERE instr(line, '=')
    UNION ALL SELECT id, 'parameter ' || substr(line, 1, instr(line, '=')) FROM lines WHERE instr(line, '=')
    UNION ALL SELECT id, 'trigger ' || trigger_type FROM orchestration_searched
    UNION ALL SELECT id, 'name ' || json_extract(body, '$.name') FROM orchestration_executions
      WHERE type = 'PIPELINE' AND json_valid(body)
    UNION ALL SELECT id, 'event ' || json_extract(trigger, '$.eventId') FROM orchestration_executions
      WHERE type = 'PIPELINE' AND json_valid(trigger))
  INSERT OR IGNORE INTO orchestration_search_marks
    SELECT application, mark, build_time, id FROM marks JOIN orchestration_executions USING (id) WHERE mark IS NOT NULL;
  CREATE INDEX orchestration_search_marks_by_mark ON orchestration_search_marks (mark, build_time, id);
  CREATE INDEX orchestration_search_marks_by_id ON orchestration_search_marks (id);
  `,
  `
  -- A step writes the stages that it has changed. Records of older versions have theirs in the body until they are next written.
  CREATE TABLE orchestration_stages (
    execution_id TEXT NOT NULL REFERENCES orchestration_executions ON DELETE CASCADE,
    id           TEXT NOT NULL,
    body         TEXT NOT NULL,
    PRIMARY KEY (execution_id, id)
  ) STRICT;
  ALTER TABLE orchestration_executions ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Large values of contexts and outputs have rows beside their stage's, with its id, a line feed and their path. Older versions cannot read them.
  `,
  `
  -- The order of stages with rows is in a row without an id, so that a step writes no list. Older versions cannot read it.
  `,
]
