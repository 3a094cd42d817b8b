-- Teams: whom an agent was woken to lead. Access: the groups of the user at the top of the chain of causes, as of
-- when it happened, as a JSON list.
ALTER TABLE wakes ADD COLUMN team TEXT;
ALTER TABLE wakes ADD COLUMN originator_groups TEXT;
ALTER TABLE wake_causes ADD COLUMN team TEXT;
ALTER TABLE wake_causes ADD COLUMN originator_groups TEXT;

-- What waits on an issue, for whomever.
CREATE INDEX wakes_absorbing ON wakes (issue) WHERE absorbing;
