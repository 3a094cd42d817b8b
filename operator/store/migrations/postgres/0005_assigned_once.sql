-- Who is given an issue to and fro is told once, until they have looked.
UPDATE inbox SET archived = TRUE WHERE kind = 'assignment' AND NOT is_read AND NOT archived
    AND EXISTS (SELECT 1 FROM inbox AS newer WHERE newer.member = inbox.member AND newer.issue = inbox.issue
        AND newer.kind = 'assignment' AND newer.id > inbox.id);

CREATE UNIQUE INDEX inbox_assigned_once ON inbox (member, issue)
    WHERE kind = 'assignment' AND NOT is_read AND NOT archived;
