//! What the pod was given to log in to Git servers, so that nothing of it leaves the pod in a text.

use std::fs;
use std::path::Path;

use crate::files;

/// Bytes of a file of a Secret that are looked at; Kubernetes allows no more.
const FILE_BYTES: u64 = 1024 * 1024;
/// Keys of such a Secret whose values are no secret.
const KNOWN: [&str; 2] = ["username", "known_hosts"];

/// The secret values below the folder where the Secrets are mounted, each in a folder of its own.
#[must_use]
pub fn values(folder: &Path) -> Vec<String> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        // The kubelet keeps what the names lead to in folders that begin with two dots.
        entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with(".."))
    };
    let keys = entries(folder).flat_map(|secret| entries(&secret.path()).collect::<Vec<_>>());
    keys.filter(|key| !KNOWN.iter().any(|known| key.file_name() == *known))
        .filter_map(|key| {
            let path = key.path().canonicalize().ok()?;
            let content = files::read(&path, FILE_BYTES).ok()??;
            String::from_utf8(content).ok()
        })
        .map(|value| value.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn values_are_found_as_the_kubelet_mounts_them() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("git-app");
        let data = secret.join("..2027_01_15");
        fs::create_dir_all(&data).unwrap();
        for (key, value) in [
            ("username", "bot"),
            ("password", "hunter2-hunter2\n"),
            ("known_hosts", "git.example.com ssh-ed25519 AAAA"),
        ] {
            fs::write(data.join(key), value).unwrap();
            symlink(Path::new("..data").join(key), secret.join(key)).unwrap();
        }
        symlink("..2027_01_15", secret.join("..data")).unwrap();
        // A Secret that is not there leaves an empty folder.
        fs::create_dir(folder.path().join("git-absent")).unwrap();
        assert_eq!(values(folder.path()), ["hunter2-hunter2"]);
        assert!(values(&folder.path().join("nothing")).is_empty());
    }
}
