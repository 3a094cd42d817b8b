//! Skills: what agents can load. Their files are mounted by the kubelet and are not read here.

use axum::Json as Answer;
use axum::extract::{RawPathParams, State};
use crds::Skill;
use kube::ResourceExt as _;
use protocol::board::{Page, SkillCard, SkillSource};

use crate::board::{BoardCaller, GetSkills, ListSkills, PageQuery, named_page, path_part, plain};
use crate::body::Query;
use crate::error::Failure;
use crate::state::Shared;

/// `GET skills`: by name. A cursor is the last name of the page before.
pub(super) async fn list_skills(
    caller: BoardCaller<ListSkills>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<SkillCard>>, Failure> {
    let namespace = &caller.workspace().namespace;
    let find = |after: &str, most| state.definitions.skills(namespace, after, most);
    named_page(&query, find, card).map(Answer)
}

/// `GET skills/{name}`.
pub(super) async fn get_skill(
    caller: BoardCaller<GetSkills>,
    State(state): State<Shared>,
    path: RawPathParams,
) -> Result<Answer<SkillCard>, Failure> {
    let namespace = &caller.workspace().namespace;
    let skill = state
        .definitions
        .skill(namespace, path_part(&path, "name")?);
    let skill = skill.ok_or_else(Failure::not_found)?;
    Ok(Answer(card(&skill)))
}

fn card(skill: &Skill) -> SkillCard {
    let files = skill.spec.files.iter();
    SkillCard {
        name: skill.name_any(),
        description: plain(skill.spec.description.clone()),
        files: files
            .map(|files| SkillSource {
                config_map: files.config_map.name.clone(),
                folder: files.folder.clone(),
            })
            .collect(),
    }
}
