//! Lists come in pages. A cursor is the key of the last item of the page before, so that what is written meanwhile
//! neither repeats nor hides an item.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use protocol::board::{Cursor, Page};
use protocol::limits;
use uuid::Uuid;

use crate::Error;

/// How many items a page has that asks for so many, or for no number.
pub(crate) fn limit(asked: impl Into<Option<u32>>) -> Result<u32, Error> {
    match asked.into() {
        None => Ok(limits::PAGE_DEFAULT),
        Some(asked) if (1..=limits::PAGE_ITEMS).contains(&asked) => Ok(asked),
        Some(asked) => Err(Error::Invalid {
            what: "limit",
            why: format!(
                "{asked} items were asked for; a page has 1 to {}",
                limits::PAGE_ITEMS
            ),
        }),
    }
}

/// Where a page begins; `None` for the first one.
pub(crate) fn after<K: FromStr>(cursor: Option<&str>) -> Result<Option<K>, Error> {
    cursor
        .map(|cursor| cursor.parse().map_err(|_| foreign_cursor()))
        .transpose()
}

pub(crate) fn foreign_cursor() -> Error {
    Error::Invalid {
        what: "cursor",
        why: "no page gave it: leave it out to begin with the first page".to_owned(),
    }
}

/// The page of `items`, of which one more than `limit` was asked for, so as to know whether any follow.
pub(crate) fn page<T>(mut items: Vec<T>, limit: u32, key: impl FnOnce(&T) -> Cursor) -> Page<T> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = items.len() > limit;
    items.truncate(limit);
    let next = more.then(|| items.last().map(key)).flatten();
    Page { items, next }
}

/// The key of a list that goes by time: ids tell apart what was written in the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keyset {
    pub(crate) at: Timestamp,
    pub(crate) id: Uuid,
}

impl fmt::Display for Keyset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.at.as_microsecond(), self.id.simple())
    }
}

impl FromStr for Keyset {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once('_').ok_or(())?;
        let at = at.parse().map_err(|_| ())?;
        Ok(Self {
            at: Timestamp::from_microsecond(at).map_err(|_| ())?,
            id: id.parse().map_err(|_| ())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_whether_more_follow() {
        let key = |item: &u32| item.to_string();
        let full = page(vec![1, 2, 3], 2, key);
        assert_eq!((full.items, full.next.as_deref()), (vec![1, 2], Some("2")));
        let last = page(vec![3, 4], 2, key);
        assert_eq!((last.items, last.next), (vec![3, 4], None));
        assert_eq!(page(Vec::new(), 2, key).next, None);
    }

    #[test]
    fn a_page_has_its_bounds() {
        assert_eq!(limit(None).unwrap(), limits::PAGE_DEFAULT);
        assert_eq!(limit(limits::PAGE_ITEMS).unwrap(), limits::PAGE_ITEMS);
        for wrong in [0, limits::PAGE_ITEMS + 1] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let key = Keyset {
            at: Timestamp::from_microsecond(1_800_000_000_000_001).unwrap(),
            id: Uuid::now_v7(),
        };
        assert_eq!(after(Some(&key.to_string())).unwrap(), Some(key));
        assert_eq!(after::<Keyset>(None).unwrap(), None);
        for wrong in [
            "",
            "_",
            "1_",
            "1_x",
            "9223372036854775807_00000000000000000000000000000000",
        ] {
            assert!(after::<Keyset>(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
