-- The prompt of a task whose object takes it from elsewhere, as it was when the task was entered.
CREATE TABLE prompts (
    task UUID NOT NULL PRIMARY KEY REFERENCES tasks (id),
    prompt TEXT NOT NULL
);
