-- What an agent's program wrote, as it wrote it but for secrets: the end of it, for people who look for a fault.
-- Parts follow each other by where in all of it they begin.
CREATE TABLE raw_logs (
    task UUID NOT NULL,
    attempt BIGINT NOT NULL,
    start BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, attempt, start),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number)
);
