-- Every table of a Hearsay database; docs/store.md says how they are filled and how to ask them.
-- "when" and "split" are words of SQL: write them in double quotes. Times are UTC.
-- No keys beyond that of runs: an index would slow the batches down, and the run's lock keeps rows single.

-- One row is one seed of one configuration.
CREATE TABLE IF NOT EXISTS runs (
    run_id VARCHAR PRIMARY KEY,     -- hash of the configuration and the seed
    config_id VARCHAR,              -- hash of the configuration without the seed: groups the seeds
    dataset VARCHAR,                -- the name results are reported under
    "split" VARCHAR,                -- how shots, pool and test were divided
    "when" VARCHAR,                 -- stop policy
    how VARCHAR,                    -- verifier
    model VARCHAR,                  -- model string
    endpoint VARCHAR,               -- where the model answered; NULL in process
    seed BIGINT,
    config JSON,                    -- everything that was in force
    prompts JSON,                   -- prompt file -> sha256
    packages JSON,                  -- package -> version
    corpus_counts JSON,             -- what was read and what was dropped, by reason; "complete": as published
    corpus_fingerprint VARCHAR,     -- sha256 of the corpus as read
    n_threads BIGINT,               -- threads to judge
    git_commit VARCHAR,             -- of the code, with "+" where it was changed; NULL outside a checkout
    status VARCHAR,                 -- running | finished | interrupted | failed; running without a process: killed
    started TIMESTAMP,              -- of the first command that worked on it
    finished TIMESTAMP,             -- NULL until it is
    flushed BIGINT DEFAULT 0        -- number of the last journal segment stored, so that none is stored twice
);

-- One row is the judgement of one thread, or of one of its checkpoints.
CREATE TABLE IF NOT EXISTS predictions (
    run_id VARCHAR,
    thread_id VARCHAR,
    checkpoint VARCHAR,             -- NULL unless the stop policy names several
    fold VARCHAR,                   -- part of the split whose test set the thread is in
    gold VARCHAR,
    label VARCHAR,                  -- NULL if abstained or failed
    probabilities JSON,             -- label -> probability, and "method": where they come from; NULL where there are none
    outcome VARCHAR,                -- verdict | abstained | failed
    reason VARCHAR,                 -- why it abstained or failed
    stop_index BIGINT,              -- posts read when it stopped, from 1
    n_posts BIGINT,                 -- posts in the thread
    seconds_to_stop DOUBLE,         -- in the conversation, from the source post to the stop; NULL without times
    rationale VARCHAR,              -- the model's own words
    seconds DOUBLE,                 -- of work on this thread, waiting for models included
    flip_rate DOUBLE,               -- share of later posts that change the label, from the stop to the thread's end;
                                    -- NULL where labels after the stop were not asked for (--sea)
    debate JSON                     -- transcript: subjective, scores, p, n, turns, flips, calls (agents/debate/transcript.py),
                                    -- and "gold": comment -> S or D where the corpus says; NULL where there was no debate
);
-- for databases made before they were there
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS flip_rate DOUBLE;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS debate JSON;

-- One row is what was said of one post of a thread: its stance towards the thread's claim.
CREATE TABLE IF NOT EXISTS annotations (
    run_id VARCHAR,
    thread_id VARCHAR,
    checkpoint VARCHAR,             -- as in predictions
    fold VARCHAR,
    post_id VARCHAR,
    gold VARCHAR,                   -- S | D | Q | C; NULL where the corpus does not say
    label VARCHAR,                  -- the same; NULL if abstained, if the thread failed, or if the verifier left the post out
    probabilities JSON,             -- stance -> probability; NULL where there are none
    explanation VARCHAR,            -- why: the model's own words, or the description of the label
    reason VARCHAR,                 -- why there is no label
    kept BOOLEAN                    -- whether the selector retained the post; NULL where nothing is selected
);

-- One row is one decision of a stop policy, or a label asked for after it (--sea).
CREATE TABLE IF NOT EXISTS steps (
    run_id VARCHAR,
    thread_id VARCHAR,
    step BIGINT,                    -- posts read, from 1
    action VARCHAR,                 -- continue | stop | after
    stop_probability DOUBLE,        -- NULL after the stop
    label VARCHAR                   -- verdict on this prefix, where one was asked for
);

-- One row is one use of a model's answer.
CREATE TABLE IF NOT EXISTS calls (
    run_id VARCHAR,
    thread_id VARCHAR,
    key VARCHAR,                    -- content address: equal questions have equal keys
    cached BOOLEAN,                 -- answered from the row with this key and cached = false
    role VARCHAR,
    model VARCHAR,
    endpoint VARCHAR,
    parameters JSON,                -- all else that is part of the address
    prompt_sha256 VARCHAR,
    request JSON,                   -- messages as sent; NULL where cached
    reply JSON,                     -- the answer as read; NULL where cached or failed
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost DOUBLE,                    -- USD; NULL where no price is known
    seconds DOUBLE,
    created TIMESTAMP,
    error VARCHAR                   -- why there is no reply
);

-- One row is one measured value of a run.
CREATE TABLE IF NOT EXISTS metrics (
    run_id VARCHAR,
    checkpoint VARCHAR,
    name VARCHAR,                   -- macro_f1, accuracy, f1_<label>, early_rate, stance_macro_f1, ...
    value DOUBLE,                   -- NULL where it is undefined (F1 of a class that never occurs)
    low DOUBLE,                     -- 95 % bootstrap interval over threads; NULL for counts
    high DOUBLE,
    n BIGINT                        -- threads (of stances: posts) it is measured on, abstained and failed ones included
);

-- One row is one row of a study's table: a configuration at one checkpoint, measured over its seeds.
CREATE TABLE IF NOT EXISTS studies (
    study VARCHAR,                  -- table | shots | alpha | cross | hours | debate | ablations | rounds | early |
                                    -- joint | parts | seeds | epsilon
    base_id VARCHAR,                -- hash of the study's rows and seeds: made again with the same options it replaces its rows
    dataset VARCHAR,                -- the name results are reported under
    position BIGINT,                -- place in the table, from 1
    "row" VARCHAR,                  -- what the table calls it
    system VARCHAR,                 -- what it is a point of: EARD, CED, S2MAD, vanilla, w/o stance, ...
    x DOUBLE,                       -- what the study varies: shots, alpha, hours, rounds, posts, share of seeds or epsilon; NULL where that is no number
    config_id VARCHAR,              -- its runs: the seeds of one configuration
    checkpoint VARCHAR,             -- NULL unless its stop policy names several
    seeds BIGINT,
    n BIGINT,                       -- threads measured, over all seeds
    macro_f1 DOUBLE,                -- mean over seeds, like all that follows
    macro_f1_std DOUBLE,            -- over seeds (n - 1); NULL for one seed
    macro_f1_low DOUBLE,            -- 95 % bootstrap interval over threads
    macro_f1_high DOUBLE,
    accuracy DOUBLE,
    accuracy_std DOUBLE,
    accuracy_low DOUBLE,
    accuracy_high DOUBLE,
    f1 JSON,                        -- class -> F1; NULL where the class never occurs
    early_rate DOUBLE,
    early_rate_std DOUBLE,
    early_rate_low DOUBLE,
    early_rate_high DOUBLE,
    abstained DOUBLE,               -- threads a seed
    failed DOUBLE,
    calls_per_thread DOUBLE,        -- as in metrics: with several checkpoints, those of all of them together
    tokens_per_thread DOUBLE,
    created TIMESTAMP
);
-- for databases made before they were there
ALTER TABLE studies ADD COLUMN IF NOT EXISTS accuracy_std DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS accuracy_low DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS accuracy_high DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS f1 JSON;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS calls_per_thread DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS tokens_per_thread DOUBLE;
-- of studies that score stances or claims with more than two classes
ALTER TABLE studies ADD COLUMN IF NOT EXISTS micro_f1 DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS micro_f1_std DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS stance_micro_f1 DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS stance_micro_f1_std DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS stance_macro_f1 DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS stance_macro_f1_std DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS stance_macro_f1_low DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS stance_macro_f1_high DOUBLE;
ALTER TABLE studies ADD COLUMN IF NOT EXISTS stance_f1 JSON;
