//! Keys and certificates of the cluster: one authority, one certificate per component.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::command;

/// The folder of keys; it lives as long as the cluster.
#[derive(Debug)]
pub(crate) struct Pki {
    folder: PathBuf,
}

impl Pki {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Makes the authority and the key that signs service-account tokens.
    pub(crate) fn create(&self) -> Result<()> {
        fs::create_dir_all(&self.folder)?;
        fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
        self.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 3650 -subj /CN=mooring-local")?;
        self.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out sa.key")?;
        self.openssl("pkey -in sa.key -pubout -out sa.pub")
    }

    /// Makes `<name>.crt` and `<name>.key` for a subject, valid for the alternative names.
    pub(crate) fn certificate(&self, name: &str, subject: &str, alternatives: &str) -> Result<()> {
        let mut extensions =
            "keyUsage=digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n".to_owned();
        if !alternatives.is_empty() {
            extensions.push_str(&format!("subjectAltName={alternatives}\n"));
        }
        fs::write(self.folder.join(format!("{name}.ext")), extensions)?;
        self.openssl(&format!(
            "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -out {name}.csr -subj {subject}"
        ))?;
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -out {name}.crt -extfile {name}.ext"
        ))
    }

    /// The folder, for configuration that names files in it.
    pub(crate) fn folder(&self) -> String {
        self.folder.display().to_string()
    }

    fn openssl(&self, arguments: &str) -> Result<()> {
        command::run(
            Command::new("openssl")
                .current_dir(&self.folder)
                .args(arguments.split(' ')),
        )
    }
}
