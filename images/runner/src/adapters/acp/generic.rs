//! Any other agent that speaks ACP: the Runtime names its program and its arguments.

use super::dialect::{BASE, Dialect};

pub(super) const DIALECT: Dialect = Dialect {
    is_known: false,
    ..BASE
};
