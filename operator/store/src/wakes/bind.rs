//! The object of a task that was born in the store: made after the row, and bound to it.

use protocol::TaskId;

use crate::db::query;
use crate::{Error, Store, WritePoint};

impl Store {
    /// Binds a task that was born in the store to the object that was made for it. The same again changes
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it has another object, or the object another task, [`Error::Missing`],
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn bind_object(&self, task: TaskId, uid: &str) -> Result<(), Error> {
        const BIND: &str = "UPDATE tasks SET object_uid = $2 WHERE id = $1 AND object_uid = $3";
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
        write.changed(task);
        write.commit().await
    }
}
