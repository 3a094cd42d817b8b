//! The object of a task that was born in the store: made after the row, and bound to it.

use protocol::TaskId;

use crate::db::query;
use crate::{Error, Store, WritePoint};

impl Store {
    /// Tasks that are not over and have no object yet, oldest first. For the start of an operator; afterwards
    /// [`crate::Changes`] names them.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn born_unbound(&self, limit: u32) -> Result<Vec<TaskId>, Error> {
        const LIST: &str = "SELECT task FROM wakes JOIN tasks ON tasks.id = wakes.task \
            WHERE unbound AND state <> 'finished' ORDER BY task LIMIT $1";
        let list = query("list tasks without an object", LIST).bind(limit);
        let rows = list.all(&mut self.reader().await?).await?;
        rows.iter().map(|row| row.get("task").map(TaskId)).collect()
    }

    /// Binds a task that was born in the store to the object that was made for it. The same again changes
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it has another object, or the object another task, [`Error::Missing`],
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn bind_object(&self, task: TaskId, uid: &str) -> Result<(), Error> {
        const BIND: &str = "UPDATE tasks SET object_uid = $2 WHERE id = $1 AND object_uid = $3";
        const BOUND: &str = "UPDATE wakes SET unbound = $2 WHERE task = $1";
        const FIND: &str = "SELECT object_uid FROM tasks WHERE id = $1";
        let mut write = self.write(WritePoint::BindObject).await?;
        let bind = query("bind a task to its object", BIND)
            .bind(task)
            .bind(uid);
        if bind.bind(task.to_string()).execute(&mut write).await? == 0 {
            let find = query("read the object of a task", FIND).bind(task);
            let found = find.optional(&mut write).await?;
            let missing = || Error::Missing {
                what: format!("task {task}"),
            };
            let held: String = found.ok_or_else(missing)?.get("object_uid")?;
            if held == uid {
                return Ok(());
            }
            return Err(Error::Conflict {
                what: format!("task {task} has the object {held}, not {uid}"),
            });
        }
        query("note that a task has its object", BOUND)
            .bind(task)
            .bind(false)
            .execute(&mut write)
            .await?;
        write.changed(task);
        write.commit().await
    }
}
