//! One path has many spellings. By words alone: what is a link is not looked at.

/// Where a program works.
#[derive(Clone, Copy, Debug)]
pub struct Folders<'a> {
    /// The folder from which patterns count.
    pub work: &'a str,
    /// Where it is now: from there its own paths count.
    pub now: &'a str,
}

impl Folders<'_> {
    /// What a path may be called: whole, and from the folder of work if it lies in there.
    pub(super) fn forms(&self, path: &str) -> Vec<String> {
        let whole = match path.starts_with('/') {
            true => plain(path),
            false => plain(&format!("{}/{path}", self.now)),
        };
        let work = plain(self.work);
        let inside = match whole.strip_prefix(&work) {
            Some("") => Some("."),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let inside = inside.map(str::to_owned);
        inside.into_iter().chain([whole]).collect()
    }
}

/// A whole path without `.`, `..` and double strokes.
fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
