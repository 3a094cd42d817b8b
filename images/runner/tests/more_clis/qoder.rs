//! Qoder, of which nothing more can be seen without an account than that it asks for a login.

use protocol::FailureClass;

use crate::lab::{Cli, with_lab};

const QODER: Cli = Cli {
    id: "qoder",
    args: &[],
    env: &[],
    files: &[],
    uses: None,
    model: None,
    tokens: None,
    has_files: false,
    in_pieces: true,
    acp: true,
};

#[test]
fn without_a_login_the_run_fails_and_says_so() -> anyhow::Result<()> {
    with_lab(QODER, |lab| {
        let told = lab.say("[scenario:text] hi", None)?;
        assert_eq!(told.class(), Some(FailureClass::ProviderAuth));
        assert_eq!(told.result.session, None);
        assert!(told.tools().is_empty() && told.text().is_empty());
        Ok(())
    })
}
