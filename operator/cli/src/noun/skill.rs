//! `moor skill`.

use clap::Subcommand;
use protocol::board::SkillCard;

use super::{Part, resource_name};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the skills that agents can be given.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Shows what a skill is made of.
    Get {
        /// Its name.
        #[arg(value_parser = |given: &str| resource_name("skill", given))]
        name: String,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { part } => {
                let page = board.skills(&part.query()).await?;
                out.page(&page, |skill| skill.name.clone(), table)
            }
            Self::Get { name } => {
                let skill = board.skill(name).await?;
                out.show(&skill, |skill| skill.name.clone(), shown)
            }
        }
    }
}

fn table(skills: &[SkillCard]) -> Table<2> {
    let rows = skills
        .iter()
        .map(|skill| [skill.name.clone(), skill.description.clone()]);
    Table::new(["NAME", "DESCRIPTION"], rows)
}

fn shown(skill: &SkillCard) -> String {
    let files = skill.files.iter().map(|files| match files.folder.as_str() {
        "" => files.config_map.clone(),
        folder => format!("{} in {folder}/", files.config_map),
    });
    fields(&[
        ("name", skill.name.clone()),
        ("description", skill.description.clone()),
        ("configMaps", files.collect::<Vec<_>>().join(", ")),
    ])
}

#[cfg(test)]
mod tests {
    use protocol::board::SkillSource;

    use super::*;

    #[test]
    fn skills_are_shown() {
        let source = |config_map: &str, folder: &str| SkillSource {
            config_map: config_map.into(),
            folder: folder.into(),
        };
        let skill = SkillCard {
            name: "review".into(),
            description: "How we\nreview.\u{1b}[2J".into(),
            files: vec![source("review", ""), source("review-scripts", "scripts")],
        };
        insta::assert_snapshot!("skill", shown(&skill));
        insta::assert_snapshot!("skills", table(&[skill]).render(80));
    }
}
