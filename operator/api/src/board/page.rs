//! Pages: how many items, how many bytes, and from where.

use std::sync::Arc;

use protocol::board::{Cursor, Page};
use protocol::limits;
use serde::{Deserialize, Serialize};

use super::door::is_name;
use crate::body::json_bytes;
use crate::error::Failure;

/// A page of long items is full once it has so many bytes, and the part that went past them.
const PAGE_BYTES: usize = 512 * 1024;
/// Long items that are read at a time, so that neither memory nor the answer holds many of them.
const PART_ITEMS: u32 = 8;
// Quotes and line ends are escaped, so a text may be twice as long. Clients read no longer answer than this.
const _: () =
    assert!(PAGE_BYTES + PART_ITEMS as usize * 2 * limits::COMMENT_BYTES < limits::BODY_BYTES);

/// Query of a list that has nothing else to ask.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// At most so many.
    #[serde(default)]
    pub(crate) limit: Option<u32>,
    /// From the page before.
    #[serde(default)]
    pub(crate) cursor: Option<Cursor>,
}

/// Query of a timeline.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The last position that the caller has; 0 begins at the beginning.
    #[serde(default)]
    pub(crate) after: u64,
    /// At most so many.
    #[serde(default)]
    pub(crate) limit: Option<u32>,
}

/// How many items a page is to have.
pub(crate) fn limit(asked: Option<u32>) -> Result<u32, Failure> {
    match asked {
        None => Ok(limits::PAGE_DEFAULT),
        Some(asked @ 1..=limits::PAGE_ITEMS) => Ok(asked),
        Some(asked) => Err(Failure::invalid(format!(
            "limit is {asked}, and a page has 1 to {} items: ask for the rest with its cursor",
            limits::PAGE_ITEMS
        ))),
    }
}

/// A page of definitions by name. A cursor is the last name of the page before.
pub(crate) fn named_page<K: kube::ResourceExt, T>(
    query: &PageQuery,
    find: impl FnOnce(&str, usize) -> Vec<Arc<K>>,
    card: impl Fn(&K) -> T,
) -> Result<Page<T>, Failure> {
    let limit = limit(query.limit)? as usize;
    let after = query.cursor.as_deref();
    if !after.is_none_or(is_name) {
        return Err(Failure::wrong_cursor());
    }
    // One more says whether there is another page.
    let mut found = find(after.unwrap_or_default(), limit + 1);
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| last.name_any());
    let items = found.iter().map(|each| card(each)).collect();
    Ok(Page { items, next })
}

/// A page of long items on its way: read part by part, until it is full or nothing follows.
pub(crate) struct Filling<T> {
    items: Vec<T>,
    bytes: usize,
    most: u32,
}

impl<T: Serialize> Filling<T> {
    /// For at most so many items.
    pub(crate) fn new(most: u32) -> Self {
        Self {
            items: Vec::new(),
            bytes: 0,
            most,
        }
    }

    /// How many items to read next.
    pub(crate) fn part(&self) -> u32 {
        let there = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        PART_ITEMS.min(self.most.saturating_sub(there))
    }

    /// Takes a part in, and gives the page once it is one. `next` says where what follows the part begins.
    pub(crate) fn take(
        &mut self,
        part: Vec<T>,
        next: Option<Cursor>,
    ) -> Result<Option<Page<T>>, Failure> {
        for item in part {
            self.bytes += json_bytes(&item)?;
            self.items.push(item);
        }
        let full = next.is_none() || self.bytes >= PAGE_BYTES || self.part() == 0;
        let items = full.then(|| std::mem::take(&mut self.items));
        Ok(items.map(|items| Page { items, next }))
    }
}
