//! What the API tells a run while it goes on: a person's remarks, and decisions.

use protocol::board::Author;
use protocol::runner::CommandKind;
use protocol::{CommentId, LogLevel};

use super::Turn;
use crate::adapter::{HostCommand, Input};
use crate::approvals::Decision;
use crate::brief;
use crate::stop::StopCause;

impl Turn<'_, '_> {
    /// Does what the API asks for.
    pub(super) fn commanded(&mut self, command: CommandKind) {
        match command {
            CommandKind::Stop { reason } => self.stop(StopCause::Commanded(reason)),
            CommandKind::Steer {
                remark,
                author,
                text,
            } => self.steer(remark, &author, &text),
            CommandKind::Decide {
                approval,
                allow,
                by,
                reason,
            } => self.decided(approval, Decision { allow, by, reason }),
        }
    }

    /// Hands over what a person adds.
    fn steer(&mut self, remark: CommentId, author: &Author, text: &str) {
        let id = remark.to_string();
        self.remarks.insert(id.clone(), remark);
        if self.stopping() {
            self.steered(&id, Err("the turn was over already".to_owned()));
            return;
        }
        if let Some(why) = self.around.deaf.clone() {
            self.steered(&id, Err(why));
            return;
        }
        let text = brief::remark(author, text);
        self.give(Input::Host(HostCommand::Steer {
            id: &id,
            text: &text,
        }));
    }

    /// What became of one. Later answers are none.
    pub(super) fn steered(&mut self, id: &str, taken: Result<(), String>) {
        let Some(remark) = self.remarks.remove(id) else {
            return;
        };
        let lost = self.input.has_lost();
        let taken = taken.and_then(|()| match lost {
            true => Err("the agent's program did not read its input".to_owned()),
            false => Ok(()),
        });
        let words = match &taken {
            Ok(()) => format!("the agent has taken in comment {remark} while it worked"),
            Err(why) => {
                format!("the agent has not taken in comment {remark} while it worked: {why}")
            }
        };
        self.around.journal.remark(LogLevel::Info, words);
        let redactor = self.around.journal.redactor();
        let taken = taken.map_err(|why| redactor.text(&why).into_owned());
        self.around.told.settle(remark, taken);
    }
}
