//! What `moor login` keeps: one file, readable by its owner alone, written whole or not at all.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use client::Workspace;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::settings::{Server, Settings};

/// Where the folder of every program's configuration is.
pub(crate) const ENV_HOME: &str = "XDG_CONFIG_HOME";
/// A configuration is shorter than this; the longest part of it is a certificate.
const FILE_BYTES: u64 = 256 * 1024;

/// A login.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Whose.
    pub(crate) user: String,
    /// What it is shown with.
    pub(crate) token: SecretString,
    /// When that ends.
    pub(crate) expires: Timestamp,
    /// Which workspace is meant where none is named.
    pub(crate) workspace: Option<Workspace>,
    /// How the API is reached.
    pub(crate) way: Way,
}

/// How the API is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// At an address.
    Server(Server),
    /// Through the cluster it runs in.
    Cluster {
        /// A context of the kubeconfig.
        context: String,
        /// The operator's namespace.
        namespace: String,
        /// PEM: whoever answers must be the API to which one has logged in.
        ca: String,
    },
}

/// The file. Its `Debug` would show the token, so it has none.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    user: String,
    token: String,
    expires: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    ca: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<FileServer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<FileCluster>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileServer {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_name: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct FileCluster {
    context: String,
    namespace: String,
}

/// Where the file is.
pub(crate) fn path(settings: &Settings) -> Result<PathBuf, Failure> {
    // Relative paths in this variable are to be ignored, says the XDG specification.
    let named = settings
        .config_home
        .clone()
        .filter(|path| path.is_absolute());
    let home = named.or_else(|| std::env::home_dir().map(|home| home.join(".config")));
    home.map(|home| home.join("mooring").join("config.toml"))
        .ok_or_else(|| {
            Failure::NoIdentity(format!(
                "there is no home folder: {ENV_HOME} can say where the login is kept"
            ))
        })
}

/// Reads the login, if there is one.
pub(crate) fn read(path: &Path) -> Result<Option<Config>, Failure> {
    let bad = |problem: String| Failure::Config {
        path: path.to_owned(),
        problem,
    };
    let unreadable = |error: io::Error| bad(format!("cannot be read: {error}"));
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if found.permissions().mode() & 0o077 != 0 {
        return Err(bad(format!(
            "others may read the token in it; `chmod 600 {}`, and log in again if others could",
            path.display()
        )));
    }
    if found.len() > FILE_BYTES {
        return Err(bad(format!("it is larger than {FILE_BYTES} bytes")));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    // The parser's own message would repeat the line, which may be that with the token.
    let file: File = toml::from_str(&text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| {
            1 + text[..span.start.min(text.len())].matches('\n').count()
        });
        bad(format!("line {line} is not as it should be; log in again"))
    })?;
    from_file(file).map(Some).map_err(bad)
}

/// Writes the login in place of the one before.
pub(crate) fn write(path: &Path, config: &Config) -> Result<(), Failure> {
    let fail = |problem: String| Failure::Config {
        path: path.to_owned(),
        problem,
    };
    let text = toml::to_string(&to_file(config)).map_err(|error| fail(error.to_string()))?;
    replace(path, &format!("# Written by `moor login`.\n{text}"))
        .map_err(|error| fail(format!("cannot be written: {error}")))
}

/// A file beside it, with all in it, takes its place: whoever reads sees the old one or the new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    if !folder.is_dir() {
        DirBuilder::new().mode(0o700).create(folder)?;
    }
    let mut file = tempfile::Builder::new()
        .prefix(".config-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    fs::File::open(folder)?.sync_all()
}

fn from_file(file: File) -> Result<Config, String> {
    let workspace = file
        .workspace
        .map(|name| name.parse::<Workspace>())
        .transpose()?;
    let way = match (file.server, file.cluster) {
        (Some(server), None) => Way::Server(Server {
            url: server.url,
            tls_name: server.tls_name,
            ca: file.ca,
        }),
        (None, Some(cluster)) => Way::Cluster {
            context: cluster.context,
            namespace: cluster.namespace,
            ca: file.ca,
        },
        (None, None) | (Some(_), Some(_)) => {
            return Err("it has to have either `server` or `cluster`; log in again".to_owned());
        }
    };
    Ok(Config {
        user: file.user,
        token: file.token.into(),
        expires: file.expires,
        workspace,
        way,
    })
}

fn to_file(config: &Config) -> File {
    let (ca, server, cluster) = match config.way.clone() {
        Way::Server(Server { url, tls_name, ca }) => (ca, Some(FileServer { url, tls_name }), None),
        Way::Cluster {
            context,
            namespace,
            ca,
        } => (ca, None, Some(FileCluster { context, namespace })),
    };
    File {
        user: config.user.clone(),
        token: config.token.expose_secret().to_owned(),
        expires: config.expires,
        workspace: config.workspace.as_ref().map(ToString::to_string),
        ca,
        server,
        cluster,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(way: Way) -> Config {
        Config {
            user: "ada".into(),
            token: "mrp_secret".into(),
            expires: Timestamp::UNIX_EPOCH,
            workspace: Some("team-a".parse().unwrap()),
            way,
        }
    }

    fn ways() -> [Way; 2] {
        [
            Way::Server(Server {
                url: "https://a:1".into(),
                tls_name: Some("b".into()),
                ca: "PEM\nPEM\n".into(),
            }),
            Way::Cluster {
                context: "kind".into(),
                namespace: "mooring-system".into(),
                ca: "PEM\n".into(),
            },
        ]
    }

    #[test]
    fn a_login_is_read_back_and_nobody_else_can() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("deep/mooring/config.toml");
        assert!(read(&path).unwrap().is_none());
        for way in ways() {
            write(&path, &config(way.clone())).unwrap();
            let found = read(&path).unwrap().unwrap();
            assert_eq!(found.way, way);
            assert_eq!(found.token.expose_secret(), "mrp_secret");
            assert_eq!(found.workspace.unwrap().as_str(), "team-a");
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        insta::assert_snapshot!("config_file", fs::read_to_string(&path).unwrap());
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        write(&path, &config(ways()[0].clone())).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let failure = read(&path).unwrap_err();
        assert!(failure.words().contains("chmod 600"), "{}", failure.words());
        assert_eq!(failure.exit_code(), 3);
    }

    #[test]
    fn a_broken_file_is_told_without_the_token() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        let whole = "user = 'a'\nca = ''\nexpires = '1970-01-01T00:00:00Z'\n";
        for (text, wanted) in [
            ("user = 'a'\ntoken = 'mrp_secret\n", "line 2"),
            (
                &format!("token = 'mrp_secret'\n{whole}"),
                "either `server` or `cluster`",
            ),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let words = read(&path).unwrap_err().words();
            assert!(
                words.contains(wanted) && !words.contains("secret"),
                "{words}"
            );
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let shown = format!("{:?}", config(ways()[0].clone()));
        assert!(!shown.contains("mrp_"), "{shown}");
    }

    #[test]
    fn the_place_is_that_of_xdg() {
        let at = |home: Option<&str>| {
            let settings = Settings {
                config_home: home.map(Into::into),
                ..Settings::default()
            };
            path(&settings).unwrap()
        };
        assert_eq!(at(Some("/c")), Path::new("/c/mooring/config.toml"));
        assert!(at(Some("relative")).ends_with(".config/mooring/config.toml"));
        assert!(at(None).is_absolute());
    }
}
