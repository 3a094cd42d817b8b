//! The chain of a flood: each word proves by its hash that none is missing before it.

use sha2::{Digest as _, Sha256};

/// The end of a chain so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    number: u64,
    hash: String,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            number: 0,
            hash: "start".to_owned(),
        }
    }
}

/// What is wrong with what was said of a flood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A word is missing, doubled or out of order.
    #[error("after word {after} of the flood comes {found:?}")]
    Link {
        /// The last good one.
        after: u64,
        /// The line found.
        found: String,
    },
    /// The end is missing, or there is more than there should be.
    #[error("the flood has {found} words, not {wanted}")]
    Count {
        /// How many are there.
        found: u64,
        /// How many should be.
        wanted: u64,
    },
}

impl Chain {
    /// The next word, with its newline.
    pub fn next_word(&mut self) -> String {
        self.number += 1;
        let digest = Sha256::digest(format!("{} {}", self.hash, self.number));
        self.hash = hex::encode(&digest[..8]);
        format!("flood {} {}\n", self.number, self.hash)
    }

    /// The words that close the chain.
    #[must_use]
    pub fn end(&self) -> String {
        format!("chain ends at {} {}\n", self.number, self.hash)
    }
}

/// Checks that `said`, all texts and thoughts of a run in order, holds a flood of `wanted` words, each once.
/// Other lines are passed over.
///
/// # Errors
/// [`Broken`] names the first word that is not as it should be.
pub fn check(said: &str, wanted: u64) -> Result<(), Broken> {
    let mut chain = Chain::default();
    for line in said.lines().filter(|line| line.starts_with("flood ")) {
        let after = chain.number;
        if chain.next_word().trim_end() != line {
            return Err(Broken::Link {
                after,
                found: line.to_owned(),
            });
        }
    }
    if chain.number == wanted {
        Ok(())
    } else {
        Err(Broken::Count {
            found: chain.number,
            wanted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: u64) -> Vec<String> {
        let mut chain = Chain::default();
        (0..words).map(|_| chain.next_word()).collect()
    }

    #[test]
    fn a_whole_flood_passes_and_every_fault_shows() {
        let whole = said(5);
        assert_eq!(check(&format!("x\n{}", whole.concat()), 5), Ok(()));
        let count = Broken::Count {
            found: 4,
            wanted: 5,
        };
        assert_eq!(check(&whole[..4].concat(), 5), Err(count));
        for spoilt in [[0, 1, 3, 4, 4], [0, 1, 1, 2, 3], [0, 2, 1, 3, 4]] {
            let text: String = spoilt.iter().map(|&at| whole[at].as_str()).collect();
            assert!(
                matches!(check(&text, 5), Err(Broken::Link { .. })),
                "{spoilt:?}"
            );
        }
    }
}
