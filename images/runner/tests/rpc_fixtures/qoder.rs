//! What Qoder writes in the mode that speaks as Claude Code does. It is driven over ACP; so it is read as a program of
//! that protocol that is known by no name.

use protocol::FailureClass as C;

use crate::of;
use crate::replay::Case;

pub(crate) fn cases() -> Vec<Case> {
    vec![Case {
        exit: 1,
        class: Some(C::ProviderAuth),
        ..of("custom-stream-json", "stream-json-qoder", "no-login")
    }]
}
